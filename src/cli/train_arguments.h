#pragma once

#include "cli/command.h"
#include "train/train_config.h"

namespace lemnos::cli {

/// `-c FILE` and any `--key value ...` of the training options.
train::TrainConfig train_config_of(const Arguments& arguments);

/// The options that `train` and `plan` declare themselves.
std::vector<OptionSpec> train_options();

}  // namespace lemnos::cli
