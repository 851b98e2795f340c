#include "proof/sources.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/sha256.h"

namespace lemnos::proof {
namespace {

/// What runs every program, and how shaders are compiled.
constexpr const char* kRoots[] = {"train/engine.h", "train/weights.h", "cmake/Shaders.cmake"};

std::string stem_of(const std::string& path) { return path.substr(0, path.rfind('.')); }
std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/') + 1); }

class Closure {
 public:
  Closure(const std::vector<SourceFile>& table, const ProgramParts& program) : program_(program) {
    for (const SourceFile& source : table) by_path_[source.path] = &source;
    for (const SourceFile& source : table) note_implementation(source);
  }

  std::vector<const SourceFile*> find(const std::vector<SourceFile>& table) {
    for (const char* root : kRoots) visit(root);
    const std::set<std::string> ops(program_.ops.begin(), program_.ops.end());
    for (const SourceFile& source : table) {
      const bool family = program_.stage != "optimizer" && !source.family.empty() && source.family == program_.family;
      const auto is_used = [&](const std::string& op) { return ops.contains(op); };
      const bool peft = is_peft(source.path) && uses_peft();
      if (family || peft || std::any_of(source.ops.begin(), source.ops.end(), is_used)) visit(source.path);
    }
    std::vector<const SourceFile*> found;
    for (const std::string& path : visited_) found.push_back(by_path_.at(path));
    return found;
  }

 private:
  static bool is_peft(const std::string& path) { return path.starts_with("peft/"); }
  bool uses_peft() const { return program_.stage != "base" && program_.stage != "optimizer"; }

  /// A .cpp implements the header of its own stem, or, without one, those it includes of its folder.
  void note_implementation(const SourceFile& source) {
    if (source.path.ends_with(".comp")) shaders_[source.path.substr(folder_of(source.path).size())] = source.path;
    if (!source.path.ends_with(".cpp") || !source.ops.empty() || !source.family.empty()) return;
    const std::string own = stem_of(source.path) + ".h";
    if (by_path_.contains(own)) return implementations_[own].push_back(source.path);
    for (const std::string& header : source.includes)
      if (folder_of(header) == folder_of(source.path)) implementations_[header].push_back(source.path);
  }

  void visit(const std::string& path) {
    const auto found = by_path_.find(path);
    if (found == by_path_.end()) return;  // decides no numbers
    if (is_peft(path) && !uses_peft()) return;
    if (!visited_.insert(path).second) return;
    for (const std::string& header : found->second->includes) visit(header);
    for (const std::string& shader : found->second->shaders) visit(shaders_.at(shader + ".comp"));
    for (const std::string& implementation : implementations_[path]) visit(implementation);
  }

  const ProgramParts& program_;
  std::map<std::string, const SourceFile*> by_path_;
  std::map<std::string, std::vector<std::string>> implementations_;
  std::map<std::string, std::string> shaders_;  // file name -> path
  std::set<std::string> visited_;
};

std::vector<std::string> split(std::string_view text, char by) {
  std::vector<std::string> parts;
  for (size_t first = 0; first < text.size();) {
    const size_t end = std::min(text.find(by, first), text.size());
    parts.emplace_back(text.substr(first, end - first));
    first = end + 1;
  }
  return parts;
}

}  // namespace

std::vector<SourceFile> parse_source_table(std::string_view text) {
  std::vector<SourceFile> table;
  for (const std::string& line : split(text, '\n')) {
    std::vector<std::string> fields = split(line, '\t');
    LEMNOS_CHECK(fields.size() == 5 || fields.size() == 6, "a line of the source table: {}", line);
    fields.resize(6);  // the family, the last, may be empty
    table.push_back({fields[0], fields[1], split(fields[2], ' '), split(fields[3], ' '), split(fields[4], ' '), fields[5]});
  }
  return table;
}

const std::vector<SourceFile>& source_table() {
  static const std::vector<SourceFile> table = parse_source_table(source_table_text());
  return table;
}

std::vector<const SourceFile*> closure(const std::vector<SourceFile>& table, const ProgramParts& program) {
  return Closure(table, program).find(table);
}

std::string fingerprint(const std::vector<SourceFile>& table, const ProgramParts& program) {
  Sha256 sha;
  for (const SourceFile* source : closure(table, program)) {
    sha.add(source->path);
    sha.end_part();
    sha.add(source->sha256);
    sha.end_part();
  }
  return sha.hex();
}

}  // namespace lemnos::proof
