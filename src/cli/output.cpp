#include <cerrno>
#include <cstdio>

#include "cli/command.h"
#include "io/file.h"

namespace lemnos::cli {
namespace {

[[noreturn]] void fail_to_print(int error_code) {
  if (error_code == EPIPE) throw ClosedOutput(ErrorKind::io, "the standard output was closed");
  fail_io("write to", "the standard output", error_code);
}

}  // namespace

void print_text(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) fail_to_print(errno);
}

void print_line(const std::string& line) { print_text(line + '\n'); }

void print_json(const Json& document) { print_line(document.dump(2)); }

void flush_output() {
  if (std::fflush(stdout) != 0) fail_to_print(errno);
}

}  // namespace lemnos::cli
