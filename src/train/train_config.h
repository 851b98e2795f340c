#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "train/gemm_choice.h"
#include "train/schedule.h"

namespace lemnos::train {

enum class SaveStrategy { no, steps, epoch };
enum class SamplingStrategy { random, sequential };
/// Both are AdamW with decoupled weight decay; the names differ in PyTorch's kernels only.
enum class OptimizerName { adamw_torch, adamw_torch_fused };

/// Which modules get an adapter, as PEFT's target_modules.
struct TargetModules {
  enum class Kind { all_linear, suffixes, regex };
  Kind kind = Kind::suffixes;
  /// A module matches when its name equals one or ends in "." + one.
  std::vector<std::string> suffixes;
  /// Must match a module's whole name.
  std::string regex;
  bool operator==(const TargetModules&) const = default;
};

struct ByteSize {
  int64_t bytes = 0;
  bool operator==(const ByteSize&) const = default;
};

/// Part of a whole: 0.005 for "0.5%".
struct Fraction {
  double value = 0;
  bool operator==(const Fraction&) const = default;
};

enum class SettingSource { file, flag, implied };

/// Where an option's value comes from: "run.yaml:3", "--lora-r", or the option that implies it.
struct SettingPlace {
  SettingSource source = SettingSource::file;
  std::string place;
};

/// An option that was given, is known, and does nothing here.
struct WithoutEffect {
  std::string key;
  std::string value;
  std::string reason;
};

/// All that a run is told, resolved and free of contradictions. Names and meanings are those of
/// TRL's SFTConfig and ModelConfig; what each does stands in docs/options.md, made from the option
/// table. The defaults are here and nowhere else.
struct TrainConfig {
  std::optional<std::string> model_name_or_path;
  std::optional<std::string> init_from_config;
  std::string output_dir = "trainer_output";
  std::optional<std::string> resume_from_checkpoint;  ///< a folder, or "auto"

  std::vector<std::string> dataset_name;
  std::string dataset_text_field = "text";
  std::optional<int64_t> max_length = 1024;
  std::optional<bool> completion_only_loss;
  std::optional<int64_t> pad_to_multiple_of;
  SamplingStrategy train_sampling_strategy = SamplingStrategy::random;

  int64_t per_device_train_batch_size = 8;
  int64_t gradient_accumulation_steps = 1;
  double num_train_epochs = 3;
  int64_t max_steps = -1;
  int64_t seed = 42;
  std::optional<int64_t> data_seed;

  OptimizerName optim = OptimizerName::adamw_torch;
  double learning_rate = 2e-5;
  LrSchedulerType lr_scheduler_type = LrSchedulerType::linear;
  double warmup_steps = 0;
  double warmup_ratio = 0;
  double weight_decay = 0;
  double adam_beta1 = 0.9;
  double adam_beta2 = 0.999;
  double adam_epsilon = 1e-8;
  double max_grad_norm = 1;

  bool use_peft = false;
  int64_t lora_r = 16;
  int64_t lora_alpha = 32;
  double lora_dropout = 0.05;
  std::optional<TargetModules> lora_target_modules;
  std::optional<Fraction> lora_parameter_budget;

  double logging_steps = 10;
  SaveStrategy save_strategy = SaveStrategy::steps;
  double save_steps = 500;
  std::optional<int64_t> save_total_limit;

  std::optional<std::string> device;
  bool use_cpu = false;
  std::optional<ByteSize> memory_limit;
  GemmChoice gemm = GemmChoice::automatic;
  std::optional<bool> gradient_checkpointing;  ///< nothing: as much as memory asks for
  bool allow_unqualified = false;

  /// By key; an option that is not here has its default.
  std::map<std::string, SettingPlace, std::less<>> given;
  std::vector<WithoutEffect> without_effect;
  /// What the user should read before the run starts: options without effect, options overridden.
  std::vector<std::string> notes;

  uint64_t data_order_seed() const { return static_cast<uint64_t>(data_seed.value_or(seed)); }
  /// warmup_steps or warmup_ratio, whichever is given, of a run of `total_steps`.
  LrSchedule lr_schedule(int64_t total_steps) const;
};

/// `--key value ...` of the command line; no value stands for true.
struct FlagSetting {
  std::string key;
  std::vector<std::string> values;
};

/// Reads and resolves; flags win over the file. Unknown, repeated, ill-typed, out-of-range and
/// contradictory options are Error{usage}, those that are refused by name Error{unsupported}, all
/// with their place. Touches no file but the YAML file itself.
TrainConfig load_train_config(const std::optional<std::filesystem::path>& file,
                              std::span<const FlagSetting> flags);
TrainConfig parse_train_config(std::string_view yaml, std::string_view source,
                               std::span<const FlagSetting> flags);

/// Error{usage} unless there is a model (or a config to start from) and data.
void require_complete(const TrainConfig& config);

/// For applied.json: {"options": {key: {"value", "source": "default" | "file" | "flag" | "implied",
/// "place"}}, "without_effect": [{"key", "value", "reason"}]}.
Json to_json(const TrainConfig& config);

}  // namespace lemnos::train
