#define FMT_HEADER_ONLY 1
#define SPDLOG_FMT_EXTERNAL_HO 1
#include "base/log.h"

#include "base/printable.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

namespace lemnos {
namespace {

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::debug: return spdlog::level::debug;
    case LogLevel::info: return spdlog::level::info;
    case LogLevel::warning: return spdlog::level::warn;
    case LogLevel::error: break;
  }
  return spdlog::level::err;
}

spdlog::logger& logger() {
  static spdlog::logger instance = [] {
    spdlog::logger made("lemnos", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made.set_pattern("%v");
    made.flush_on(spdlog::level::debug);
    return made;
  }();
  return instance;
}

}  // namespace

void log_message(LogLevel level, std::string_view text) {
  const char* prefix = level == LogLevel::warning ? "warning: " : level == LogLevel::error ? "error: " : "";
  logger().log(spdlog_level(level), "{}{}", prefix, printable(text));
}

void set_log_level(LogLevel lowest) { logger().set_level(spdlog_level(lowest)); }

}  // namespace lemnos
