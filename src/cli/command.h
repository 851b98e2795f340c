#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace lemnos::cli {

/// One option of a command, as `--help` shows it.
struct OptionSpec {
  enum class Kind { flag, value, list };
  const char* name;  // "--prompt"; positional without dashes: "MODEL"
  const char* help;
  Kind kind = Kind::value;
  bool required = false;
};

/// What every command that uses a device takes.
inline constexpr OptionSpec kDeviceOption{
    "--device", "index, part of a name, or cpu (default: LEMNOS_DEVICE, else the first discrete GPU, else an integrated one, else the CPU)"};

/// What the user typed.
class Arguments {
 public:
  std::map<std::string, std::vector<std::string>> values;
  std::vector<std::string> extras;  // of commands that take any `--key value`

  bool has(const std::string& name) const { return values.contains(name); }
  std::optional<std::string> get(const std::string& name) const;
  /// Required ones are there when the command runs.
  std::string at(const std::string& name) const { return values.at(name).front(); }
  /// Error{usage} naming the option when it is not a number (in the range).
  int64_t integer(const std::string& name, int64_t fallback, int64_t low, int64_t high) const;
  double number(const std::string& name, double fallback, double low, double high) const;
  bool json() const { return has("--json"); }
};

/// One command, one file; the build lists them (see cmake/GeneratedTables.cmake).
struct Command {
  const char* name;
  const char* summary;
  std::vector<OptionSpec> options;
  int (*run)(const Arguments& arguments) = nullptr;
  bool any_option = false;  // takes any `--key value`: Arguments::extras
  bool later = false;       // its name is settled, the command is not there yet
  std::string (*more_help)() = nullptr;  // what `--help` says after the options
};
std::span<const Command* const> commands();

/// Parses argv, runs the command chosen and returns its exit code.
int run(int argc, char** argv);
/// Whether `--json` is among the words, known before they are parsed.
bool wants_json(int argc, char** argv);

/// Nobody reads the standard output any more (`| head -3`): ends the command with exit code 5 (io),
/// without a message.
class ClosedOutput : public Error {
  using Error::Error;
};
/// Part of a result on stdout. Error{io} when it cannot be written.
void print_text(std::string_view text);
/// A line of a result on stdout.
void print_line(const std::string& line);
/// Rows of cells in columns as wide as their widest cell, two spaces apart.
void print_table(const std::vector<std::vector<std::string>>& rows);
/// Prints the one JSON document of `--json`.
void print_json(const Json& document);
/// Returns once what was printed is written.
void flush_output();

}  // namespace lemnos::cli
