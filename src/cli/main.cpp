#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>

#include "base/error.h"
#include "base/log.h"
#include "base/printable.h"
#include "cli/command.h"
#include "io/file.h"

namespace lemnos::cli {
namespace {

constexpr int kInternal = 1;

const char* kind_name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage: return "usage";
    case ErrorKind::unsupported: return "unsupported";
    case ErrorKind::corrupt_input: return "corrupt_input";
    case ErrorKind::io: return "io";
    case ErrorKind::device: return "device";
    case ErrorKind::out_of_memory: break;
  }
  return "out_of_memory";
}

/// The error on stderr and, with --json, as the one document on stdout.
int report(bool json, const char* kind, int code, const char* message) {
  log_message(LogLevel::error, message);
  if (!json) return code;
  Json error, document;
  error.set("kind", kind);
  error.set("message", printable(message));
  error.set("exit_code", code);
  document.set("error", std::move(error));
  print_json(document);
  return code;
}

int report(bool json, ErrorKind kind, const char* message) { return report(json, kind_name(kind), exit_code(kind), message); }

int run_and_report(int argc, char** argv) {
  const bool json = wants_json(argc, argv);
  try {
    const int code = run(argc, argv);
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) fail_io("write to", "the standard output", errno);
    return code;
  } catch (const Error& error) {
    return report(json, error.kind(), error.what());
  } catch (const std::bad_alloc&) {
    return report(json, ErrorKind::out_of_memory, "out of host memory");
  } catch (const std::exception& error) {
    return report(json, "internal", kInternal, error.what());
  }
}

}  // namespace
}  // namespace lemnos::cli

int main(int argc, char** argv) {
  // Beyond a file size limit, as on a full disk, write() shall fail with a message, not end the process.
  std::signal(SIGXFSZ, SIG_IGN);
  return lemnos::cli::run_and_report(argc, argv);
}
