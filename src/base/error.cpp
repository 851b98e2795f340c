#include "base/error.h"

namespace lemnos {

int exit_code(ErrorKind kind) { return static_cast<int>(kind) + 2; }

void throw_error(ErrorKind kind, const std::string& message) { throw Error(kind, message); }

namespace detail {

void check_failed(const char* condition, const char* file, int line, const std::string& message) {
  throw InternalError(format("internal error at {}:{}: {} {}", file, line, condition, message));
}

}  // namespace detail
}  // namespace lemnos
