#include "ops/attention/tiles.h"
#include "train/train_config_options.h"

namespace lemnos::train {
namespace {

static_assert(kMaxAttentionSegment == 32768, "max_length's text says so");

using C = TrainConfig;

constexpr Range at_least(double low) { return {.low = low}; }
/// A count that products of two still hold.
constexpr Range count_from(double low) { return {.low = low, .high = static_cast<double>(kMostSteps)}; }
constexpr Range above(double low) { return {.low = low, .low_excluded = true}; }
constexpr Range from_up_to_below(double low, double high) {
  return {.low = low, .high = high, .high_excluded = true};
}

constexpr Option option(std::string_view group, std::string_view key, OptionMember member,
                        std::string_view text, Range range = {}) {
  return {key, OptionClass::applied, group, member, range, text, {}, {}};
}

constexpr Option alias(std::string_view key, std::string_view alias_of) {
  return {key, OptionClass::applied, {}, {}, {}, {}, {}, alias_of};
}

constexpr std::string_view kModel = "Model and output";
constexpr std::string_view kData = "Data";
constexpr std::string_view kLength = "Length of the run";
constexpr std::string_view kOptimizer = "Optimizer and learning rate";
constexpr std::string_view kLora = "LoRA";
constexpr std::string_view kRecords = "Log and checkpoints";
constexpr std::string_view kDevice = "Device and memory";
constexpr std::string_view kProof = "Proof";

constexpr Option kApplied[] = {
    option(kModel, "model_name_or_path", &C::model_name_or_path,
           "Folder in Hugging Face layout (`config.json`, `*.safetensors`, `tokenizer.json`); nothing is "
           "fetched from the Hub: download a model first, e.g. `hf download org/name --local-dir name`"),
    option(kModel, "init_from_config", &C::init_from_config,
           "Start from random weights of this `config.json` (or the one in this folder); "
           "`model_name_or_path` then gives the tokenizer only"),
    option(kModel, "output_dir", &C::output_dir, "Folder of the result and the checkpoints"),
    option(kModel, "resume_from_checkpoint", &C::resume_from_checkpoint,
           "A checkpoint folder, or `auto` (also `true`): the newest complete one in `output_dir`"),

    option(kData, "dataset_name", &C::dataset_name,
           "JSONL file, folder of `*.jsonl` files, or a list of these"),
    alias("train_file", "dataset_name"),
    option(kData, "dataset_text_field", &C::dataset_text_field, "Key of the text in text rows"),
    option(kData, "max_length", &C::max_length, "Longer rows lose their end; null keeps them whole. A row that is left with more than 32768 tokens is refused",
           count_from(2)),
    alias("max_seq_length", "max_length"),
    option(kData, "completion_only_loss", &C::completion_only_loss,
           "Loss on the completion only; null: yes for prompt and completion rows, no for others"),
    option(kData, "pad_to_multiple_of", &C::pad_to_multiple_of,
           "Padded lengths (the buckets) are multiples of this; null and `auto`: 64", count_from(1)),
    option(kData, "train_sampling_strategy", &C::train_sampling_strategy,
           "`random`: shuffled anew in each epoch; `sequential`: in the order of the files, those of one "
           "padded length together in a batch"),

    option(kLength, "num_train_epochs", &C::num_train_epochs, "Passes over the data",
           {.low = 0, .high = 1e9, .low_excluded = true}),
    option(kLength, "max_steps", &C::max_steps,
           "Optimizer steps; when positive it wins over `num_train_epochs`", count_from(-1)),
    option(kLength, "per_device_train_batch_size", &C::per_device_train_batch_size,
           "Rows in a batch", count_from(1)),
    option(kLength, "gradient_accumulation_steps", &C::gradient_accumulation_steps,
           "Batches in an optimizer step; the loss is the mean over all their target tokens",
           count_from(1)),
    option(kLength, "seed", &C::seed, "Of dropout, new adapters and random weights", at_least(0)),
    option(kLength, "data_seed", &C::data_seed, "Of the order of the rows; null: `seed`",
           at_least(0)),

    option(kOptimizer, "optim", &C::optim, "AdamW with decoupled weight decay under either name"),
    option(kOptimizer, "learning_rate", &C::learning_rate, "The highest of the schedule",
           at_least(0)),
    option(kOptimizer, "lr_scheduler_type", &C::lr_scheduler_type, "As in Transformers"),
    option(kOptimizer, "warmup_steps", &C::warmup_steps,
           "Steps from 0 to `learning_rate`; below 1: that part of the run, rounded up",
           at_least(0)),
    option(kOptimizer, "warmup_ratio", &C::warmup_ratio,
           "Part of the run that warms up, rounded up to steps", from_up_to_below(0, 1)),
    option(kOptimizer, "weight_decay", &C::weight_decay,
           "Not applied to biases and normalisation weights", at_least(0)),
    option(kOptimizer, "adam_beta1", &C::adam_beta1, "Decay of the first moment",
           from_up_to_below(0, 1)),
    option(kOptimizer, "adam_beta2", &C::adam_beta2, "Decay of the second moment",
           from_up_to_below(0, 1)),
    option(kOptimizer, "adam_epsilon", &C::adam_epsilon, "Added to the root of the second moment",
           at_least(0)),
    option(kOptimizer, "max_grad_norm", &C::max_grad_norm,
           "Gradients are scaled to this global norm when they exceed it; 0: never", at_least(0)),

    option(kLora, "use_peft", &C::use_peft,
           "Train an adapter; any applied `lora_*` key turns it on by itself"),
    option(kLora, "lora_r", &C::lora_r, "Rank", count_from(1)),
    alias("r", "lora_r"),
    option(kLora, "lora_alpha", &C::lora_alpha, "The adapter is scaled by `lora_alpha / lora_r`",
           at_least(1)),
    option(kLora, "lora_dropout", &C::lora_dropout, "Part of the adapter's input that is dropped",
           from_up_to_below(0, 1)),
    option(kLora, "lora_target_modules", &C::lora_target_modules,
           "Module names (matched as whole name or ending), `all-linear`, or a regular expression "
           "for the whole name; null: PEFT's choice for the family"),
    alias("target_modules", "lora_target_modules"),
    option(kLora, "lora_parameter_budget", &C::lora_parameter_budget,
           "Instead of `lora_r`: the largest rank whose trainable parameters are at most this "
           "part of the base model's"),

    option(kRecords, "logging_steps", &C::logging_steps,
           "Steps between progress lines, which are also the rows of `metrics.jsonl`; below 1: that part "
           "of the run", above(0)),
    option(kRecords, "save_strategy", &C::save_strategy,
           "When to write checkpoints besides the final result"),
    option(kRecords, "save_steps", &C::save_steps,
           "Steps between checkpoints; below 1: that part of the run", above(0)),
    option(kRecords, "save_total_limit", &C::save_total_limit,
           "Checkpoints to keep, the oldest go first; null keeps all", count_from(1)),

    option(kDevice, "device", &C::device,
           "Number or part of the name of a Vulkan device, or `cpu`; null: `LEMNOS_DEVICE`, else the first "
           "discrete GPU, else an integrated one, else the CPU"),
    option(kDevice, "use_cpu", &C::use_cpu, "The same as `device: cpu`"),
    option(kDevice, "memory_limit", &C::memory_limit,
           "Most device memory the plan may take, in B, KB, MB, GB, KiB, MiB or GiB; null: what "
           "the device has"),
    option(kDevice, "gemm", &C::gemm,
           "Kernels of matrix products: `fma`; `split`, matrix units with FP32's accuracy (docs/numerics.md); `auto`: `split` "
           "for large weights where `lemnos devices` lists it, else `fma`"),
    option(kDevice, "gradient_checkpointing", &C::gradient_checkpointing,
           "Activations are made again in the backward pass instead of being kept: true: those of every layer; "
           "false: none; null and `auto`: none when the plan fits into memory, else the cheapest that make it fit. "
           "Losses and weights have the same bits either way"),

    option(kProof, "allow_unqualified", &C::allow_unqualified,
           "Train although the model's features are not all proven equal to Transformers' at this stage "
           "(`lemnos architectures`); what is missing is logged and noted in `applied.json`"),
};

}  // namespace

std::span<const Option> applied_options() { return kApplied; }

}  // namespace lemnos::train
