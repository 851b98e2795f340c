#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <span>
#include <sstream>

#include "base/error.h"
#include "base/nearest.h"
#include "cli/command.h"

namespace lemnos::cli {
namespace {

/// Where CLI11 puts what it finds, per option.
struct Slot {
  const OptionSpec* spec;
  std::vector<std::string> values;
  bool flag = false;
};

void add_option(CLI::App& app, Slot& slot) {
  CLI::Option* option = slot.spec->kind == OptionSpec::Kind::flag
                            ? app.add_flag(slot.spec->name, slot.flag, slot.spec->help)
                            : app.add_option(slot.spec->name, slot.values, slot.spec->help);
  if (slot.spec->kind == OptionSpec::Kind::value) option->expected(1)->allow_extra_args(false);
  if (slot.spec->required) option->required();
}

constexpr OptionSpec kJson{"--json", "one JSON document on stdout, everything human on stderr", OptionSpec::Kind::flag};

/// "-c" of "-c,--config"; empty when there is none.
std::string short_name(const std::string& names) { return names.find(',') == std::string::npos ? "" : names.substr(0, names.find(',')); }
std::string long_name(const std::string& names) { return names.substr(names.rfind(',') + 1); }

std::string list_of_commands() {
  std::string text;
  for (const bool later : {false, true}) {
    if (later) text += "\nnot there yet:";
    for (const Command* command : commands())
      if (command->later == later) text += later ? format(" {}", command->name) : format("\n  {:<15}{}", command->name, command->summary);
  }
  return text;
}

[[noreturn]] void refuse_command(std::string_view word) {
  std::vector<std::string_view> names;
  for (const Command* command : commands()) names.push_back(command->name);
  const std::string_view nearest = nearest_word(word, names);
  fail(ErrorKind::usage, "\"{}\" is not a command{}; the commands are{}", word,
       nearest.empty() ? "" : format(", did you mean {}?", nearest), list_of_commands());
}

/// What comes before the command: only the program's own options. CLI11 would not say where an option
/// of the command belongs.
void check_start(std::span<char* const> words) {
  bool only_asks = false;
  for (const std::string_view word : words) {
    const auto is_word = [&](const Command* command) { return word == command->name; };
    if (std::any_of(commands().begin(), commands().end(), is_word)) return;
    if (!word.starts_with("-")) refuse_command(word);
    if (word != "--json" && word != "--help" && word != "-h" && word != "--version")
      fail(ErrorKind::usage, "{} is not an option of `lemnos` itself; the options of a command come after it", word);
    only_asks = only_asks || word != "--json";
  }
  if (!only_asks)
    fail(ErrorKind::usage, "no command is given; the commands are{}\nRun `lemnos COMMAND --help` for the options of one.",
         list_of_commands());
}

/// CLI11's sentence, but for the two that name its own types and bounds.
std::string what_is_wrong(const CLI::ParseError& error) {
  const std::string text = error.what(), name = text.substr(0, text.find(':'));
  if (error.get_name() != "ArgumentMismatch") return text;
  if (text.ends_with("missing")) return name + " needs a value";
  return name + " is given more than once";
}

/// The command's options by their names, the long ones first.
std::vector<std::string> option_names(const Command& command) {
  std::vector<std::string> known = {kJson.name, "--help"};
  for (const OptionSpec& spec : command.options)
    if (spec.name[0] == '-') known.push_back(long_name(spec.name));
  known.push_back("-h");
  for (const OptionSpec& spec : command.options)
    if (spec.name[0] == '-' && !short_name(spec.name).empty()) known.push_back(short_name(spec.name));
  return known;
}

bool takes_value(const Command& command, std::string_view name) {
  const auto is_it = [&](const OptionSpec& spec) {
    return spec.name[0] == '-' && spec.kind != OptionSpec::Kind::flag && (long_name(spec.name) == name || short_name(spec.name) == name);
  };
  return std::any_of(command.options.begin(), command.options.end(), is_it);
}

/// An option and not a negative number or a lone dash.
bool looks_like_option(std::string_view word) {
  if (word.starts_with("--")) return word.size() > 2;
  return word.size() > 1 && word[0] == '-' && std::isalpha(static_cast<unsigned char>(word[1])) != 0;
}

[[noreturn]] void refuse_option(const Command& command, const std::string& name) {
  const std::vector<std::string> known = option_names(command);
  const std::vector<std::string_view> candidates(known.begin(), known.end());
  const std::string_view nearest = nearest_word(name, candidates);
  fail(ErrorKind::usage, "{} is not an option of `lemnos {}`; {}", name, command.name,
       nearest.empty() ? format("`lemnos {} --help` lists them", command.name) : format("did you mean {}?", nearest));
}

/// Before positional arguments are counted: the value of a misspelt option is none of them.
void check_options(const Command& command, std::span<const std::string> words) {
  const std::vector<std::string> known = option_names(command);
  for (size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    const bool is_long = words[i].starts_with("--");
    const std::string name = words[i].substr(0, is_long ? words[i].find('=') : 2);  // "-cFILE" is "-c FILE"
    const bool is_known = std::find(known.begin(), known.end(), name) != known.end();
    const bool is_value = i > 0 && takes_value(command, words[i - 1]);
    if (is_value && is_known)
      fail(ErrorKind::usage, "{0} needs a value; if {1} is meant as one, write {0}={1}", words[i - 1], words[i]);
    if (!is_value && !is_known && looks_like_option(name)) refuse_option(command, words[i].substr(0, words[i].find('=')));
  }
}

/// A flag in the one spelling that is looked up: `--max_new_tokens=5` as `--max-new-tokens=5`, and
/// `-c=FILE`, which would be the file "=FILE", as `-cFILE`.
std::string normal_word(std::string word) {
  if (!looks_like_option(word)) return word;
  if (!word.starts_with("--")) {
    if (word.size() > 2 && word[2] == '=') word.erase(2, 1);
    return word;
  }
  const size_t name = std::min(word.find('='), word.size());
  std::replace(word.begin(), word.begin() + static_cast<ptrdiff_t>(name), '_', '-');
  return word;
}

class Parser {
 public:
  Parser() : app_("Trains and fine-tunes Transformer language models on any Vulkan GPU.", "lemnos") {
    app_.set_version_flag("--version", std::string("lemnos ") + LEMNOS_VERSION);
    app_.add_flag(kJson.name, json_, kJson.help);
    app_.require_subcommand(1);
    for (const Command* command : commands()) add_command(*command);
  }

  int run(int argc, char** argv) {
    const std::vector<std::string> words = words_of({argv + 1, argv + argc});
    try {
      app_.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // CLI11 takes the last first
    } catch (const CLI::CallForVersion& version) {
      if (!wants_json(argc, argv)) return print_answer(version);
      print_json(Json::Object{{"version", LEMNOS_VERSION}});
      return 0;
    } catch (const CLI::ParseError& error) {
      if (error.get_exit_code() == 0) return print_answer(error);  // --help
      fail(ErrorKind::usage, "{}\nRun with --help for the options.", what_is_wrong(error));
    }
    for (Added& added : added_) {
      if (!added.app->parsed()) continue;
      if (added.command->later) fail(ErrorKind::unsupported, "`lemnos {}` is not there yet", added.command->name);
      return added.command->run(arguments_of(added));
    }
    return 0;
  }

 private:
  /// What CLI11 says itself: help and version.
  int print_answer(const CLI::ParseError& question) {
    std::ostringstream out;
    const int code = app_.exit(question, out, out);
    print_text(out.str());
    return code;
  }

  /// What was typed, checked as far as CLI11 would not say it well.
  static std::vector<std::string> words_of(std::span<char* const> typed) {
    check_start(typed);
    std::vector<std::string> words;
    const Command* command = nullptr;
    size_t first = 0;  // behind the command
    for (const char* word : typed) {
      words.push_back(command == nullptr ? word : normal_word(word));
      for (const Command* other : commands())
        if (command == nullptr && words.back() == other->name) command = other, first = words.size();
    }
    if (command != nullptr && !command->any_option) check_options(*command, std::span(words).subspan(first));
    return words;
  }

  struct Added {
    const Command* command;
    CLI::App* app;
    std::vector<std::unique_ptr<Slot>> slots;
  };

  void add_command(const Command& command) {
    Added added{&command, app_.add_subcommand(command.name, command.summary), {}};
    added.app->group(command.later ? "Not there yet" : "Commands")->allow_extras();
    if (command.later) added.app->footer("This command is not there yet.");
    if (command.more_help != nullptr) added.app->footer(command.more_help());
    for (const OptionSpec& spec : command.options) added.slots.push_back(std::make_unique<Slot>(Slot{&spec, {}, false}));
    added.slots.push_back(std::make_unique<Slot>(Slot{&kJson, {}, false}));
    for (const auto& slot : added.slots) add_option(*added.app, *slot);
    added_.push_back(std::move(added));
  }

  Arguments arguments_of(const Added& added) const {
    Arguments arguments;
    for (const auto& slot : added.slots) {
      const bool may_be_empty = std::string_view(slot->spec->name) == "--prompt";
      for (const std::string& value : slot->values)
        if (value.empty() && !may_be_empty) fail(ErrorKind::usage, "{} is empty", long_name(slot->spec->name));
      if (slot->flag) arguments.values[long_name(slot->spec->name)] = {"true"};
      if (!slot->values.empty()) arguments.values[long_name(slot->spec->name)] = slot->values;
    }
    if (json_) arguments.values[kJson.name] = {"true"};
    arguments.extras = added.app->remaining();
    if (!added.command->any_option && !arguments.extras.empty())
      fail(ErrorKind::usage, "\"{}\" is one argument too many for `lemnos {}`; quote a value that holds spaces",
           arguments.extras.front(), added.command->name);
    return arguments;
  }

  CLI::App app_;
  bool json_ = false;
  std::vector<Added> added_;
};

}  // namespace

int run(int argc, char** argv) { return Parser().run(argc, argv); }

bool wants_json(int argc, char** argv) {
  return std::any_of(argv + 1, argv + argc, [](std::string_view word) { return word == kJson.name; });
}

}  // namespace lemnos::cli
