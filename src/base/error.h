#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "base/format.h"

namespace lemnos {

/// What went wrong, as the user sees it; each kind has one exit code (see `exit_code`).
enum class ErrorKind { usage, unsupported, corrupt_input, io, device, out_of_memory };

/// The one exception of the program. The message says what, where, got, expected and what to try.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

/// A bug of ours (a CHECK that failed); exit code 1.
class InternalError : public std::logic_error {
  using std::logic_error::logic_error;
};

/// 2 usage, 3 unsupported, 4 corrupt input, 5 io, 6 device, 7 out of memory.
int exit_code(ErrorKind kind);

[[noreturn]] void throw_error(ErrorKind kind, const std::string& message);

template <typename... Args>
[[noreturn]] void fail(ErrorKind kind, fmt::format_string<Args...> text, Args&&... args) {
  throw_error(kind, format_erased(text, fmt::make_format_args(args...)));
}

/// Runs `action`; an Error of it gets "<place>: " before its message.
template <typename Action>
auto in_place(const std::string& place, Action&& action) {
  try {
    return action();
  } catch (const Error& error) {
    throw Error(error.kind(), place + ": " + error.what());
  }
}

namespace detail {
[[noreturn]] void check_failed(const char* condition, const char* file, int line,
                               const std::string& message);
}

}  // namespace lemnos

/// Always on; for our own bugs only, never for what a user can cause.
#define LEMNOS_CHECK(condition, ...)                                          \
  do {                                                                        \
    if (!(condition)) [[unlikely]]                                            \
      ::lemnos::detail::check_failed(#condition, __FILE__, __LINE__,          \
                                     ::lemnos::format("" __VA_ARGS__));       \
  } while (false)
