#include <CLI/CLI.hpp>

#include "base/error.h"
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
  if (slot.spec->kind == OptionSpec::Kind::value) option->expected(1);
  if (slot.spec->required) option->required();
}

constexpr OptionSpec kJson{"--json", "one JSON document on stdout, everything human on stderr", OptionSpec::Kind::flag};

class Parser {
 public:
  Parser() : app_("Trains and fine-tunes Transformer language models on any Vulkan GPU.", "lemnos") {
    app_.set_version_flag("--version", std::string("lemnos ") + LEMNOS_VERSION);
    app_.require_subcommand(1);
    for (const Command* command : commands()) add_command(*command);
  }

  int run(int argc, char** argv) {
    if (argc > 1) refuse_unknown_command(argv[1]);
    try {
      app_.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      if (error.get_exit_code() == 0) return app_.exit(error);  // --help, --version
      fail(ErrorKind::usage, "{}\nRun with --help for the options.", error.what());
    }
    for (Added& added : added_)
      if (added.app->parsed()) return added.command->run(arguments_of(added));
    return 0;
  }

 private:
  struct Added {
    const Command* command;
    CLI::App* app;
    std::vector<std::unique_ptr<Slot>> slots;
  };

  void add_command(const Command& command) {
    Added added{&command, app_.add_subcommand(command.name, command.summary), {}};
    if (command.any_option) added.app->allow_extras()->footer("Training options are listed in docs/options.md.");
    for (const OptionSpec& spec : command.options) added.slots.push_back(std::make_unique<Slot>(Slot{&spec, {}, false}));
    added.slots.push_back(std::make_unique<Slot>(Slot{&kJson, {}, false}));
    for (const auto& slot : added.slots) add_option(*added.app, *slot);
    added_.push_back(std::move(added));
  }

  /// CLI11 would only say that a subcommand is required.
  static void refuse_unknown_command(const std::string& word) {
    if (word.starts_with("-")) return;
    std::string names;
    for (const Command* command : commands()) {
      if (word == command->name) return;
      names += (names.empty() ? "" : ", ") + std::string(command->name);
    }
    fail(ErrorKind::usage, "\"{}\" is not a command; the commands are {}", word, names);
  }

  static std::string long_name(const std::string& names) { return names.substr(names.rfind(',') + 1); }

  static Arguments arguments_of(const Added& added) {
    Arguments arguments;
    for (const auto& slot : added.slots) {
      if (slot->flag) arguments.values[long_name(slot->spec->name)] = {"true"};
      if (!slot->values.empty()) arguments.values[long_name(slot->spec->name)] = slot->values;
    }
    arguments.extras = added.app->remaining();
    return arguments;
  }

  CLI::App app_;
  std::vector<Added> added_;
};

}  // namespace

int run(int argc, char** argv) { return Parser().run(argc, argv); }

}  // namespace lemnos::cli
