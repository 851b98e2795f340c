#pragma once

#include <string_view>

#include "base/format.h"

namespace lemnos {

/// All human-readable output goes to stderr; stdout belongs to results and `--json`.
enum class LogLevel { debug, info, warning, error };

void log_message(LogLevel level, std::string_view text);
void set_log_level(LogLevel lowest);

template <typename... Args>
void log_debug(fmt::format_string<Args...> text, Args&&... args) {
  log_message(LogLevel::debug, format_erased(text, fmt::make_format_args(args...)));
}
template <typename... Args>
void log_info(fmt::format_string<Args...> text, Args&&... args) {
  log_message(LogLevel::info, format_erased(text, fmt::make_format_args(args...)));
}
template <typename... Args>
void log_warning(fmt::format_string<Args...> text, Args&&... args) {
  log_message(LogLevel::warning, format_erased(text, fmt::make_format_args(args...)));
}

}  // namespace lemnos
