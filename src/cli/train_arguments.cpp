#include "cli/train_arguments.h"

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "base/nearest.h"
#include "train/train_config_options.h"

namespace lemnos::cli {
namespace {

/// A misspelling of the program's own options, which are no training options.
void check_key(const std::string& key) {
  constexpr std::string_view kOwn[] = {"config", "json", "help"};
  if (train::find_option(key) != nullptr || !train::nearest_key(key).empty()) return;
  if (const std::string_view nearest = nearest_word(key, kOwn); !nearest.empty())
    fail(ErrorKind::usage, "{} is not an option; did you mean --{}?", train::flag_name(key), nearest);
}

}  // namespace

std::vector<OptionSpec> train_options() {
  return {{"-c,--config", "YAML file with training options (docs/options.md); flags win over it"}};
}

train::TrainConfig train_config_of(const Arguments& arguments) {
  std::vector<train::FlagSetting> flags;
  for (const std::string& word : arguments.extras) {
    const bool is_key = word.starts_with("--");
    const bool short_key = word.size() > 1 && word[0] == '-' && std::isalpha(static_cast<unsigned char>(word[1])) != 0;
    if (short_key || (!is_key && flags.empty()))
      fail(ErrorKind::usage, "\"{}\" is not an option; {}", word,
           word.ends_with(".yaml") || word.ends_with(".yml") ? format("did you mean -c {}?", word)
                                                              : "options are written --key value, the YAML file -c FILE");
    if (!is_key) {
      flags.back().values.push_back(word);
      continue;
    }
    const size_t equals = word.find('=');
    std::string key = word.substr(2, equals == std::string::npos ? equals : equals - 2);
    std::replace(key.begin(), key.end(), '-', '_');
    check_key(key);
    flags.push_back({std::move(key), {}});
    if (equals != std::string::npos) flags.back().values.push_back(word.substr(equals + 1));
  }
  std::optional<std::filesystem::path> file;
  if (const auto config = arguments.get("--config")) file = *config;
  return train::load_train_config(file, flags);
}

}  // namespace lemnos::cli
