#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>

#include "base/error.h"
#include "base/log.h"
#include "cli/command.h"
#include "io/file.h"

int main(int argc, char** argv) {
  // Beyond a file size limit, as on a full disk, write() shall fail with a message, not end the process.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    const int code = lemnos::cli::run(argc, argv);
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) lemnos::fail_io("write to", "the standard output", errno);
    return code;
  } catch (const lemnos::Error& error) {
    lemnos::log_message(lemnos::LogLevel::error, error.what());
    return lemnos::exit_code(error.kind());
  } catch (const std::bad_alloc&) {
    lemnos::log_message(lemnos::LogLevel::error, "out of host memory");
    return lemnos::exit_code(lemnos::ErrorKind::out_of_memory);
  } catch (const std::exception& error) {
    lemnos::log_message(lemnos::LogLevel::error, error.what());
    return 1;
  }
}
