#include "io/harmless_fields.h"

#include <algorithm>

namespace lemnos {
namespace {

/// Names, provenance, labels of classifiers, what to return, and how Transformers runs the model.
constexpr std::string_view kAnyValue[] = {"_attn_implementation",
                                          "_attn_implementation_autoset",
                                          "_commit_hash",
                                          "_experts_implementation",
                                          "_model_name_or_path",
                                          "_name_or_path",
                                          "architectures",
                                          "attn_implementation",
                                          "auto_map",
                                          "bos_token_id",
                                          "classifier_dropout",
                                          "cls_token_id",
                                          "custom_pipelines",
                                          "decoder_start_token_id",
                                          "dtype",
                                          "eos_token_id",
                                          "experts_implementation",
                                          "finetuning_task",
                                          "id2label",
                                          "initializer_range",
                                          "label2id",
                                          "mask_token_id",
                                          "model_type",
                                          "name_or_path",
                                          "num_labels",
                                          "output_attentions",
                                          "output_hidden_states",
                                          "pad_token_id",
                                          "prefix",
                                          "problem_type",
                                          "return_dict",
                                          "sep_token_id",
                                          "task_specific_params",
                                          "tf_legacy_loss",
                                          "tokenizer_class",
                                          "torch_dtype",
                                          "torchscript",
                                          "transformers.js_config",
                                          "transformers_version",
                                          "unk_token_id",
                                          "unsloth_fixed",
                                          "unsloth_version",
                                          "use_bfloat16",
                                          "use_cache",
                                          "use_return_dict"};

/// GenerationConfig's parameters, which old configs carry; Transformers drops them on loading.
constexpr std::string_view kGeneration[] = {"assistant_confidence_threshold",
                                            "assistant_lookbehind",
                                            "bad_words_ids",
                                            "begin_suppress_tokens",
                                            "diversity_penalty",
                                            "do_sample",
                                            "early_stopping",
                                            "encoder_no_repeat_ngram_size",
                                            "encoder_repetition_penalty",
                                            "epsilon_cutoff",
                                            "eta_cutoff",
                                            "exponential_decay_length_penalty",
                                            "forced_bos_token_id",
                                            "forced_eos_token_id",
                                            "length_penalty",
                                            "max_length",
                                            "max_new_tokens",
                                            "min_length",
                                            "no_repeat_ngram_size",
                                            "num_assistant_tokens",
                                            "num_assistant_tokens_schedule",
                                            "num_beam_groups",
                                            "num_beams",
                                            "num_return_sequences",
                                            "output_scores",
                                            "remove_invalid_values",
                                            "repetition_penalty",
                                            "return_dict_in_generate",
                                            "suppress_tokens",
                                            "target_lookbehind",
                                            "temperature",
                                            "top_k",
                                            "top_p",
                                            "typical_p"};

/// Parts of PreTrainedConfig that change the model when they are set.
constexpr std::string_view kSwitchedOff[] = {"add_cross_attention", "cross_attention_hidden_size",
                                             "is_decoder",          "is_encoder_decoder",
                                             "per_layer_config",    "pruned_heads",
                                             "quantization_config", "tie_encoder_decoder"};

bool is_integer(const Json& value, int64_t wanted) {
  return value.is_integer() && value.as_integer() == wanted;
}

}  // namespace

bool is_harmless_field(std::string_view key, const Json& value) {
  const auto is_key = [&](std::string_view name) { return name == key; };
  if (std::ranges::any_of(kAnyValue, is_key) || std::ranges::any_of(kGeneration, is_key))
    return true;
  if (std::ranges::any_of(kSwitchedOff, is_key)) return is_switched_off(key, value);
  if (key == "pretraining_tp") return is_integer(value, 0) || is_integer(value, 1);
  if (key == "chunk_size_feed_forward") return is_integer(value, 0);
  return false;
}

bool is_switched_off(std::string_view key, const Json& value) {
  if (value.is_null()) return true;
  if (value.is_bool()) return !value.as_bool();
  if (value.is_string()) return value.as_string().empty();
  if (value.is_array()) return value.as_array().empty();
  if (value.is_object()) return value.as_object().empty();
  const bool dropout = key.find("drop") != std::string_view::npos;
  return dropout && value.as_number() == 0;
}

}  // namespace lemnos
