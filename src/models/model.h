#pragma once

#include <any>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "graph/value.h"
#include "io/hf_config.h"
#include "io/rope_config.h"

namespace lemnos {

struct Family;
class ModelBuilder;

/// One pair of cos/sin tables, the graph inputs "rope_cos<suffix>" and "rope_sin<suffix>".
struct RopeSpec {
  std::string suffix;
  RopeConfig config;
  int64_t head_dim = 0;
};

/// What the decoder-only families share, read from config.json. A family with more of its own puts
/// it into `extra`.
struct ModelConfig {
  const Family* family = nullptr;
  Json json;  // config.json as read, for export

  int64_t vocab_size = 0;
  int64_t hidden_size = 0;
  int64_t intermediate_size = 0;
  int64_t num_hidden_layers = 0;
  int64_t num_attention_heads = 0;
  int64_t num_key_value_heads = 0;
  int64_t head_dim = 0;
  int64_t max_position_embeddings = 0;
  double rms_norm_eps = 1e-6;
  double initializer_range = 0.02;
  bool tie_word_embeddings = false;
  bool qkv_bias = false;
  bool o_bias = false;
  bool mlp_bias = false;
  int64_t pad_token_id = -1;  // its embedding row gets no gradient; -1: none
  std::vector<int64_t> eos_token_ids;
  int64_t bos_token_id = -1;
  std::vector<int64_t> sliding_window;  // per layer; 0: the whole segment
  std::vector<RopeSpec> ropes;
  int64_t num_experts = 0;
  int64_t num_experts_per_tok = 0;
  std::any extra;
};

/// A parameter of the graph is, on disk, one tensor of the same name, or several slices.
struct DiskSlice {
  std::string name;
  Shape shape;
  int64_t first_element = 0;  // where the slice starts in the graph's parameter
};

/// One architecture: three questions, one file (see docs/add-a-model.md).
struct Family {
  const char* model_type;
  const char* architecture;  // "LlamaForCausalLM"
  /// Reads every field that the maths depends on; the caller refuses what is left over.
  ModelConfig (*read_config)(ConfigReader& reader);
  /// The forward pass up to the last norm: hidden states [N, H].
  ValueId (*build)(ModelBuilder& m, const ModelConfig& config);
  /// Null: every parameter is one tensor of its own name.
  std::vector<DiskSlice> (*layout)(const ModelConfig& config, const std::string& parameter,
                                   const Shape& shape) = nullptr;
  /// Names in a checkpoint that are ignored when present, as Transformers ignores them (null: none).
  bool (*ignorable)(std::string_view disk_name) = nullptr;
  /// What of its config is in play besides what all decoders share (null: nothing); see features.h.
  std::vector<std::string> (*features)(const ModelConfig& config) = nullptr;
  /// Features that act on each other, besides those of all decoders.
  std::vector<std::pair<const char*, const char*>> interacting = {};
};

/// All families, from the build's generated table.
std::span<const Family* const> families();

/// Reads config.json of a folder. An unknown model_type, and any field that changes the maths and is
/// not supported, is Error{unsupported} naming it. Notes (fields passed over) go to `notes`.
ModelConfig read_model_config(const std::filesystem::path& config_json,
                              std::vector<std::string>* notes = nullptr);
ModelConfig read_model_config(Json json, const std::string& source,
                              std::vector<std::string>* notes = nullptr);

/// The slices of one parameter on disk.
std::vector<DiskSlice> disk_layout(const ModelConfig& config, const std::string& parameter,
                                   const Shape& shape);

/// The fields that every Llama-like config has, read the way Transformers' config classes default
/// them; `defaults` are the family's. Families then add what is theirs.
struct DecoderDefaults {
  int64_t num_key_value_heads = 0;  // 0: as many as attention heads
  double rope_theta = 10000.0;
  double rms_norm_eps = 1e-6;
  int64_t head_dim = 0;  // 0: hidden_size / num_attention_heads
};
ModelConfig read_decoder_config(ConfigReader& reader, const DecoderDefaults& defaults);

/// Larger than any model; the product of any four still fits 64 bits.
inline constexpr int64_t kMostRows = int64_t{1} << 24, kMostWidth = int64_t{1} << 20, kMostParts = 4096;
/// Error{corrupt_input} naming the fields unless the tables of positions can be computed from them and
/// are finite.
void check_rope(const ConfigReader& reader, const RopeSpec& spec);
/// Error{corrupt_input} naming the field unless 1 <= value <= most.
void check_size(const ConfigReader& reader, std::string_view key, int64_t value, int64_t most);

/// Error{corrupt_input} unless `sliding_window` is a number of tokens.
void check_window(const ConfigReader& reader, int64_t window);

/// eos_token_id of config.json or generation_config.json: one, several or none.
std::vector<int64_t> read_eos_token_ids(ConfigReader& reader);

/// `layer_types` or the use_sliding_window / max_window_layers rule of the Qwen families.
void read_qwen_sliding_window(ConfigReader& reader, ModelConfig& config);
/// Its features: by which of the two rules layers slide.
std::vector<std::string> qwen_sliding_window_features(const ModelConfig& config);

}  // namespace lemnos
