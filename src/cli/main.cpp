#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <new>

#include "base/error.h"
#include "base/log.h"
#include "base/printable.h"
#include "cli/command.h"

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
  try {
    print_json(document);
    flush_output();
  } catch (const Error&) {
    // The code and the line above tell what went wrong; that stdout is gone as well changes nothing.
  }
  return code;
}

int report(bool json, ErrorKind kind, const char* message) { return report(json, kind_name(kind), exit_code(kind), message); }

int run_and_report(int argc, char** argv) {
  const bool json = wants_json(argc, argv);
  int code = 0;
  try {
    code = run(argc, argv);
    flush_output();
    return code;
  } catch (const ClosedOutput& closed) {
    return code != 0 ? code : exit_code(closed.kind());
  } catch (const Error& error) {
    return report(json, error.kind(), error.what());
  } catch (const std::bad_alloc&) {
    return report(json, ErrorKind::out_of_memory, "out of host memory");
  } catch (const std::exception& error) {
    return report(json, "internal", kInternal, error.what());
  }
}

/// A stream that the caller closed (`2>&-`) stays so: else the next file opened would get its number,
/// and the log with it. Writing into what is open for reading only fails.
void keep_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(stream, F_GETFD) < 0) ::open("/dev/null", O_RDONLY);  // takes the lowest free number
}

}  // namespace
}  // namespace lemnos::cli

int main(int argc, char** argv) {
  // Beyond a file size limit, as on a full disk, write() shall fail with a message, not end the process;
  // into a pipe that nobody reads it shall fail too, as a run does not depend on its log.
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  lemnos::cli::keep_standard_streams();
  return lemnos::cli::run_and_report(argc, argv);
}
