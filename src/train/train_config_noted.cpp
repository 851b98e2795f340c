#include "train/train_config_options.h"

namespace lemnos::train {
namespace {

constexpr Option noted(std::string_view group, std::string_view key, std::string_view reason) {
  return {key, OptionClass::noted, group, {}, {}, reason, {}, {}};
}

constexpr std::string_view kPrecisionAndKernels = "Precision and kernels";
constexpr std::string_view kDataLoading = "Data loading";
constexpr std::string_view kLogAndReports = "Log and reports";
constexpr std::string_view kEvaluation = "Evaluation";
constexpr std::string_view kSavingAndTheHub = "Saving and the Hub";
constexpr std::string_view kSeveralDevicesAndProcesses = "Several devices and processes";
constexpr std::string_view kLora = "LoRA";

constexpr std::string_view kFp32 = "everything is computed in FP32";
constexpr std::string_view kFileType =
    "frozen weights stay in their file's type and are widened exactly; all else is FP32";
constexpr std::string_view kFused = "the fused kernels are always on";
constexpr std::string_view kCompiled = "the whole step is always compiled";
constexpr std::string_view kNoEvaluation = "there is no evaluation during training yet";
constexpr std::string_view kNoWorkers = "there are no worker processes";
constexpr std::string_view kOneProcess = "one process trains";
constexpr std::string_view kMetricsFile = "metrics are in `metrics.jsonl`";
constexpr std::string_view kStays = "results stay in `output_dir`";
constexpr std::string_view kOneDevice = "one process trains on one device";
constexpr std::string_view kQuantisedOnly = "used with `load_in_4bit` only";

constexpr Option kNoted[] = {
    noted(kPrecisionAndKernels, "bf16", kFp32),
    noted(kPrecisionAndKernels, "fp16", kFp32),
    noted(kPrecisionAndKernels, "tf32", kFp32),
    noted(kPrecisionAndKernels, "dtype", kFileType),
    noted(kPrecisionAndKernels, "torch_dtype", kFileType),
    noted(kPrecisionAndKernels, "attn_implementation",
          "there is one attention, with memory linear in the length"),
    noted(kPrecisionAndKernels, "use_liger_kernel", kFused),
    noted(kPrecisionAndKernels, "liger_kernel_config", kFused),
    noted(kPrecisionAndKernels, "torch_compile", kCompiled),
    noted(kPrecisionAndKernels, "torch_compile_backend", kCompiled),
    noted(kPrecisionAndKernels, "torch_compile_mode", kCompiled),
    noted(kPrecisionAndKernels, "gradient_checkpointing_kwargs",
          "there is one way to make activations again, and dropout's masks are always the same"),
    noted(kPrecisionAndKernels, "activation_offloading",
          "activations stay on the device; the memory plan says what they take"),
    noted(kPrecisionAndKernels, "torch_empty_cache_steps",
          "memory is planned once, there is no cache"),
    noted(kPrecisionAndKernels, "use_cache", "training uses no key-value cache"),
    noted(kPrecisionAndKernels, "full_determinism", "runs are always deterministic"),
    noted(kPrecisionAndKernels, "trust_remote_code", "no code of a model folder is ever run"),
    noted(kPrecisionAndKernels, "fp16_full_eval", kFp32),
    noted(kPrecisionAndKernels, "bf16_full_eval", kFp32),
    noted(kPrecisionAndKernels, "fp16_opt_level", kFp32),
    noted(kPrecisionAndKernels, "half_precision_backend", kFp32),
    noted(kPrecisionAndKernels, "low_cpu_mem_usage", "model files are mapped, not copied"),
    noted(kDataLoading, "dataset_num_proc", "rows are read by one thread"),
    noted(kDataLoading, "dataset_batch_size", "rows are read one by one"),
    noted(kDataLoading, "dataset_test_split", kNoEvaluation),
    noted(kDataLoading, "dataset_streaming", "rows are read from local files"),
    noted(kDataLoading, "dataloader_num_workers", "batches are made beside the device's work"),
    noted(kDataLoading, "dataloader_pin_memory", "batches are written into memory that the device reads"),
    noted(kDataLoading, "dataloader_persistent_workers", kNoWorkers),
    noted(kDataLoading, "dataloader_prefetch_factor", kNoWorkers),
    noted(kDataLoading, "dataloader_multiprocessing_context", kNoWorkers),
    noted(kDataLoading, "dataloader_in_order", "batches always come in order"),
    noted(kDataLoading, "remove_unused_columns", "columns that are not read are named in the log"),
    noted(kDataLoading, "length_column_name", "lengths are counted"),
    noted(kDataLoading, "group_by_length", "batches always hold rows of one length bucket"),
    noted(kDataLoading, "ignore_bias_buffers", "there are no bias buffers"),
    noted(kDataLoading, "accelerator_config", "there is no Accelerate underneath"),
    noted(kDataLoading, "eval_packing", kNoEvaluation),
    noted(kDataLoading, "pad_token", "padding is known by its position and needs no token"),
    noted(kDataLoading, "shuffle_dataset",
          "rows are shuffled in each epoch, see `train_sampling_strategy`"),
    noted(kLogAndReports, "logging_strategy", "progress is printed as `logging_steps` says"),
    noted(kLogAndReports, "logging_first_step", "the first line comes after `logging_steps` steps"),
    noted(kLogAndReports, "logging_dir", "the log is in `output_dir`"),
    noted(kLogAndReports, "logging_nan_inf_filter",
          "losses are logged as they are, and a run stops at one that is not finite"),
    noted(kLogAndReports, "log_level", "progress and warnings are always printed, to stderr"),
    noted(kLogAndReports, "log_level_replica", kOneProcess),
    noted(kLogAndReports, "log_on_each_node", kOneProcess),
    noted(kLogAndReports, "disable_tqdm", "progress is plain lines"),
    noted(kLogAndReports, "report_to", kMetricsFile),
    noted(kLogAndReports, "run_name", kMetricsFile),
    noted(kLogAndReports, "project", kMetricsFile),
    noted(kLogAndReports, "trackio_space_id", kMetricsFile),
    noted(kLogAndReports, "trackio_bucket_id", kMetricsFile),
    noted(kLogAndReports, "trackio_static_space_id", kMetricsFile),
    noted(kLogAndReports, "include_num_input_tokens_seen",
          "`metrics.jsonl` has the speed in tokens, not their sum"),
    noted(kLogAndReports, "include_tokens_per_second", "speed is always shown"),
    noted(kLogAndReports, "skip_memory_metrics", "the memory plan says it exactly"),
    noted(kLogAndReports, "debug", "underflow and TPU checks have no counterpart here"),
    noted(kEvaluation, "eval_steps", kNoEvaluation),
    noted(kEvaluation, "eval_delay", kNoEvaluation),
    noted(kEvaluation, "per_device_eval_batch_size", kNoEvaluation),
    noted(kEvaluation, "eval_on_start", kNoEvaluation),
    noted(kEvaluation, "eval_do_concat_batches", kNoEvaluation),
    noted(kEvaluation, "eval_use_gather_object", kNoEvaluation),
    noted(kEvaluation, "eval_accumulation_steps", kNoEvaluation),
    noted(kEvaluation, "prediction_loss_only", kNoEvaluation),
    noted(kEvaluation, "include_for_metrics", kNoEvaluation),
    noted(kEvaluation, "batch_eval_metrics", kNoEvaluation),
    noted(kEvaluation, "metric_for_best_model", kNoEvaluation),
    noted(kEvaluation, "greater_is_better", kNoEvaluation),
    noted(kEvaluation, "do_eval", kNoEvaluation),
    noted(kEvaluation, "do_predict", kNoEvaluation),
    noted(kEvaluation, "do_train", "`lemnos train` trains"),
    noted(kSavingAndTheHub, "save_only_model", "checkpoints hold all that an exact resume needs"),
    noted(kSavingAndTheHub, "save_safetensors", "files are always safetensors"),
    noted(kSavingAndTheHub, "save_on_each_node", kOneProcess),
    noted(kSavingAndTheHub, "enable_jit_checkpoint",
          "Ctrl-C finishes the step and writes a checkpoint"),
    noted(kSavingAndTheHub, "overwrite_output_dir", "a run never replaces a model, or checkpoints of another run"),
    noted(kSavingAndTheHub, "restore_callback_states_from_checkpoint", "there are no callbacks"),
    noted(kSavingAndTheHub, "hub_token", kStays),
    noted(kSavingAndTheHub, "hub_private_repo", kStays),
    noted(kSavingAndTheHub, "hub_model_id", kStays),
    noted(kSavingAndTheHub, "hub_strategy", kStays),
    noted(kSavingAndTheHub, "hub_always_push", kStays),
    noted(kSavingAndTheHub, "hub_revision", kStays),
    noted(kSeveralDevicesAndProcesses, "average_tokens_across_devices", kOneDevice),
    noted(kSeveralDevicesAndProcesses, "local_rank", kOneDevice),
    noted(kSeveralDevicesAndProcesses, "ddp_find_unused_parameters", kOneDevice),
    noted(kSeveralDevicesAndProcesses, "ddp_bucket_cap_mb", kOneDevice),
    noted(kSeveralDevicesAndProcesses, "ddp_broadcast_buffers", kOneDevice),
    noted(kSeveralDevicesAndProcesses, "ddp_static_graph", kOneDevice),
    noted(kSeveralDevicesAndProcesses, "ddp_backend", kOneDevice),
    noted(kSeveralDevicesAndProcesses, "ddp_timeout", kOneDevice),
    noted(kLora, "inference_mode", "training trains"),
    noted(kLora, "peft_type", "the adapter is LoRA"),
    noted(kLora, "peft_version", "it says by what a file was written and changes nothing"),
    noted(kLora, "auto_mapping", "the family is read from `config.json`"),
    noted(kLora, "base_model_name_or_path", "it is written from `model_name_or_path`"),
    noted(kLora, "runtime_config", "initialisation runs on the host"),
    noted(kLora, "megatron_core", "there is no Megatron underneath"),
    noted(kLora, "qalora_group_size", "used with `use_qalora` only"),
    noted(kLora, "bnb_4bit_quant_type", kQuantisedOnly),
    noted(kLora, "use_bnb_nested_quant", kQuantisedOnly),
    noted(kLora, "bnb_4bit_quant_storage", kQuantisedOnly),
};

}  // namespace

std::span<const Option> noted_options() { return kNoted; }

}  // namespace lemnos::train
