// Run by the build: writes the table of sources (src/proof/sources.h) of a tree.
//   source_table TREE OUTPUT.cpp
#include <exception>
#include <fstream>
#include <iostream>

#include "source_scan.h"

namespace {

using lemnos::proof::SourceFile;

void write_list(std::ostream& out, const std::vector<std::string>& items) {
  out << '\t';
  for (const std::string& item : items) out << item << ' ';
}

/// One line a file, fields by tabs, lists by blanks (parse_source_table in src/proof/sources.cpp).
void write_table(std::ostream& out, const std::vector<SourceFile>& sources) {
  out << "#include \"proof/sources.h\"\n\nnamespace lemnos::proof {\n\n"
         "const char* source_table_text() {\n  return R\"table(";
  for (const SourceFile& source : sources) {
    out << source.path << '\t' << source.sha256;
    write_list(out, source.includes);
    write_list(out, source.ops);
    write_list(out, source.shaders);
    out << '\t' << source.family << '\n';
  }
  out << ")table\";\n}\n\n}  // namespace lemnos::proof\n";
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3) {
    std::cerr << "usage: source_table TREE OUTPUT.cpp\n";
    return 2;
  }
  std::ofstream out(argv[2]);
  write_table(out, lemnos::proof::scan_sources(argv[1]));
  out.close();
  if (!out) {
    std::cerr << "source_table: cannot write " << argv[2] << "\n";
    return 1;
  }
  return 0;
} catch (const std::exception& error) {
  std::cerr << "source_table: " << error.what() << "\n";
  return 1;
}
