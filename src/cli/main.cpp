#include <csignal>
#include <exception>
#include <new>

#include "base/error.h"
#include "base/log.h"
#include "cli/command.h"

int main(int argc, char** argv) {
  // Beyond a file size limit, as on a full disk, write() shall fail with a message, not end the process.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return lemnos::cli::run(argc, argv);
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
