#include "train/train_config_options.h"

namespace lemnos::train {
namespace {

constexpr Option refused(std::string_view group, std::string_view key, std::string_view harmless,
                         std::string_view reason) {
  return {key, OptionClass::refused, group, {}, {}, reason, harmless, {}};
}

constexpr std::string_view kModel = "Model";
constexpr std::string_view kData = "Data";
constexpr std::string_view kLossAndOptimizer = "Loss and optimizer";
constexpr std::string_view kLora = "LoRA";
constexpr std::string_view kSeveralDevicesAndTheHub = "Several devices and the Hub";

constexpr std::string_view kRevision = "download the revision and give its folder as `model_name_or_path`";
constexpr std::string_view kNoChat = "chat data is not there yet";
constexpr std::string_view kNoQuantised = "quantised bases are not there yet";
constexpr std::string_view kLocalFiles = "data sets are local files";
constexpr std::string_view kNoPacking = "packing is not there yet";
constexpr std::string_view kNoEvaluation = "there is no evaluation during training yet";
constexpr std::string_view kNoSavedModules = "saved modules are not there yet";
constexpr std::string_view kNoBareParameters = "adapters on bare parameters are not there yet";
constexpr std::string_view kCausalOnly = "only causal language models are trained";
constexpr std::string_view kChooseByName =
    "name the modules in `lora_target_modules` (a regular expression can choose layers)";
constexpr std::string_view kVariant = "this variant of LoRA is not there yet";
constexpr std::string_view kOneDevice = "one process trains on one device";

constexpr Option kRefused[] = {
    refused(kModel, "model_revision", "main", kRevision),
    refused(kModel, "revision", "main", kRevision),
    refused(kModel, "model_init_kwargs", "", "the model is what its `config.json` says"),
    refused(kModel, "router_aux_loss_coef", "0",
            "the router's auxiliary loss is not there yet"),
    refused(kModel, "chat_template_path", "", kNoChat),
    refused(kModel, "load_in_8bit", "false", kNoQuantised),
    refused(kModel, "load_in_4bit", "false", kNoQuantised),
    refused(kData, "datasets", "", "list files in `dataset_name`"),
    refused(kData, "dataset_config", "", kLocalFiles),
    refused(kData, "dataset_train_split", "train", "data sets are local files without splits"),
    refused(kData, "dataset_kwargs", "", "rows are prepared by their kind"),
    refused(kData, "eos_token", "", "it is the one of the model's tokenizer"),
    refused(kData, "truncation_mode", "keep_start", "rows lose their end"),
    refused(kData, "packing", "false", kNoPacking),
    refused(kData, "packing_strategy", "bfd", kNoPacking),
    refused(kData, "padding_free", "false", kNoPacking),
    refused(kData, "assistant_only_loss", "false", kNoChat),
    refused(kData, "dataloader_drop_last", "false",
            "the rows of the last batch are trained on too"),
    refused(kData, "label_names", "labels", "targets are the rows' `labels`"),
    refused(kData, "ignore_data_skip", "false", "a resumed run continues where the data stopped"),
    refused(kData, "auto_find_batch_size", "false", "see `lemnos plan` for the batch that fits"),
    refused(kData, "streaming", "false", kLocalFiles),
    refused(kData, "test_split_size", "", kNoEvaluation),
    refused(kData, "neftune_noise_alpha", "0", "noise on embeddings is not there yet"),
    refused(kLossAndOptimizer, "loss_type", "nll chunked_nll",
            "only the negative log-likelihood is there"),
    refused(kLossAndOptimizer, "label_smoothing_factor", "0", "label smoothing is not there yet"),
    refused(kLossAndOptimizer, "lr_scheduler_kwargs", "", "the four schedules have no parameters"),
    refused(kLossAndOptimizer, "optim_args", "", "AdamW has its own keys"),
    refused(kLossAndOptimizer, "optim_target_modules", "", "low-rank optimizers are not there yet"),
    refused(kLossAndOptimizer, "adafactor", "false", "only AdamW is there"),
    refused(kLossAndOptimizer, "eval_strategy", "no", kNoEvaluation),
    refused(kLossAndOptimizer, "evaluation_strategy", "no", kNoEvaluation),
    refused(kLossAndOptimizer, "load_best_model_at_end", "false", kNoEvaluation),
    refused(kLora, "lora_modules_to_save", "", kNoSavedModules),
    refused(kLora, "modules_to_save", "", kNoSavedModules),
    refused(kLora, "lora_target_parameters", "", kNoBareParameters),
    refused(kLora, "target_parameters", "", kNoBareParameters),
    refused(kLora, "exclude_modules", "", "name the modules to train in `lora_target_modules`"),
    refused(kLora, "lora_task_type", "CAUSAL_LM", kCausalOnly),
    refused(kLora, "task_type", "CAUSAL_LM", kCausalOnly),
    refused(kLora, "use_rslora", "false", "rank-stabilised scaling is not there yet"),
    refused(kLora, "use_dora", "false", "DoRA is not there yet"),
    refused(kLora, "bias", "none", "biases stay frozen"),
    refused(kLora, "lora_bias", "false", "biases of adapters are not there yet"),
    refused(kLora, "fan_in_fan_out", "false", "the storage order is known from the family"),
    refused(kLora, "init_lora_weights", "true",
            "adapters start as PEFT's default: A random, B zero"),
    refused(kLora, "layers_to_transform", "", kChooseByName),
    refused(kLora, "layers_pattern", "", kChooseByName),
    refused(kLora, "rank_pattern", "", "one rank for all modules so far"),
    refused(kLora, "alpha_pattern", "", "one alpha for all modules so far"),
    refused(kLora, "trainable_token_indices", "", "trained tokens are not there yet"),
    refused(kLora, "layer_replication", "", "layers are used as they are"),
    refused(kLora, "ensure_weight_tying", "false", kNoSavedModules),
    refused(kLora, "use_qalora", "false", kNoQuantised),
    refused(kLora, "megatron_config", "", "there is no Megatron underneath"),
    refused(kLora, "loftq_config", "", kVariant),
    refused(kLora, "eva_config", "", kVariant),
    refused(kLora, "corda_config", "", kVariant),
    refused(kLora, "lora_ga_config", "", kVariant),
    refused(kLora, "velora_config", "", kVariant),
    refused(kLora, "alora_invocation_tokens", "", kVariant),
    refused(kLora, "monteclora_config", "", kVariant),
    refused(kLora, "use_bdlora", "", kVariant),
    refused(kLora, "arrow_config", "", kVariant),
    refused(kLora, "kasa_config", "", kVariant),
    refused(kSeveralDevicesAndTheHub, "deepspeed", "", kOneDevice),
    refused(kSeveralDevicesAndTheHub, "fsdp", "", kOneDevice),
    refused(kSeveralDevicesAndTheHub, "fsdp_config", "", kOneDevice),
    refused(kSeveralDevicesAndTheHub, "parallelism_config", "", kOneDevice),
    refused(kSeveralDevicesAndTheHub, "push_to_hub", "false",
            "nothing is uploaded; copy `output_dir` yourself"),
    refused(kSeveralDevicesAndTheHub, "env", "", "set environment variables yourself"),
};

}  // namespace

std::span<const Option> refused_options() { return kRefused; }

}  // namespace lemnos::train
