#include "cli/train_arguments.h"

#include <algorithm>

#include "base/error.h"

namespace lemnos::cli {

std::vector<OptionSpec> train_options() {
  return {{"-c,--config", "YAML file with training options (docs/options.md); flags win over it"}};
}

train::TrainConfig train_config_of(const Arguments& arguments) {
  std::vector<train::FlagSetting> flags;
  for (const std::string& word : arguments.extras) {
    const bool is_key = word.starts_with("--");
    if (!is_key && flags.empty())
      fail(ErrorKind::usage, "\"{}\" is not an option; options are written --key value", word);
    if (!is_key) {
      flags.back().values.push_back(word);
      continue;
    }
    const size_t equals = word.find('=');
    std::string key = word.substr(2, equals == std::string::npos ? equals : equals - 2);
    std::replace(key.begin(), key.end(), '-', '_');
    flags.push_back({std::move(key), {}});
    if (equals != std::string::npos) flags.back().values.push_back(word.substr(equals + 1));
  }
  std::optional<std::filesystem::path> file;
  if (const auto config = arguments.get("--config")) file = *config;
  return train::load_train_config(file, flags);
}

}  // namespace lemnos::cli
