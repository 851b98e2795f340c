#include "models/model.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "models/rope_table.h"

namespace lemnos {
namespace {

const Family& family_of(ConfigReader& reader) {
  const std::string type = reader.get_string("model_type");
  std::string known;
  for (const Family* family : families()) {
    if (type == family->model_type) return *family;
    known += (known.empty() ? "" : ", ") + std::string(family->model_type);
  }
  fail(ErrorKind::unsupported, "{}: model_type \"{}\" is not supported (supported: {})", reader.source(), type, known);
}

/// -1 without one. A negative id counts from the vocabulary's end, as torch.nn.Embedding's
/// padding_idx does, to which Transformers hands it.
int64_t read_pad_token_id(ConfigReader& reader, int64_t vocab_size) {
  const auto given = reader.find_int("pad_token_id");
  if (!given) return -1;
  if (*given >= vocab_size || *given < -vocab_size)
    reader.fail_field("pad_token_id", format("an id below vocab_size {}", vocab_size));
  if (*given >= 0) return *given;
  reader.note(format("{}: \"pad_token_id\" is {}, which Transformers takes as row {} of the embedding; it gets no gradient",
                     reader.source(), *given, vocab_size + *given));
  return vocab_size + *given;
}

}  // namespace

ModelConfig read_model_config(Json json, const std::string& source, std::vector<std::string>* notes) {
  ConfigReader reader(std::move(json), source);
  const Family& family = family_of(reader);
  ModelConfig config = family.read_config(reader);
  config.family = &family;
  config.json = reader.json();
  reader.refuse_unknown();
  if (notes != nullptr) *notes = reader.notes();
  return config;
}

ModelConfig read_model_config(const std::filesystem::path& config_json, std::vector<std::string>* notes) {
  return read_model_config(ConfigReader::open(config_json).json(), config_json.string(), notes);
}

std::vector<DiskSlice> disk_layout(const ModelConfig& config, const std::string& parameter,
                                   const Shape& shape) {
  if (config.family->layout != nullptr) return config.family->layout(config, parameter, shape);
  return {{parameter, shape, 0}};
}

void check_rope(const ConfigReader& reader, const RopeSpec& spec) {
  constexpr int64_t kShort = 1, kLong = std::numeric_limits<int32_t>::max();  // the types change in between
  for (const int64_t length : {kShort, kLong}) {
    const RopeFrequencies f = in_place(reader.source(), [&] { return rope_frequencies(spec.config, spec.head_dim, length); });
    const bool finite = std::ranges::all_of(f.inv_freq, [](float x) { return std::isfinite(x); });
    if (!finite || !std::isfinite(static_cast<float>(f.attention_scaling)))
      fail(ErrorKind::corrupt_input, "{}: the fields of its rope type \"{}\" give positions that are not finite", reader.source(),
           spec.config.rope_type);
  }
}

void check_size(const ConfigReader& reader, std::string_view key, int64_t value, int64_t most) {
  if (value <= 0 || value > most) reader.fail_field(key, format("a positive integer of at most {}", most));
}

ModelConfig read_decoder_config(ConfigReader& reader, const DecoderDefaults& defaults) {
  ModelConfig c;
  c.vocab_size = reader.get_int("vocab_size");
  c.hidden_size = reader.get_int("hidden_size");
  c.intermediate_size = reader.get_int("intermediate_size");
  c.num_hidden_layers = reader.get_int("num_hidden_layers");
  c.num_attention_heads = reader.get_int("num_attention_heads");
  check_size(reader, "vocab_size", c.vocab_size, kMostRows);
  check_size(reader, "hidden_size", c.hidden_size, kMostWidth);
  check_size(reader, "intermediate_size", c.intermediate_size, kMostWidth);
  check_size(reader, "num_hidden_layers", c.num_hidden_layers, kMostParts);
  check_size(reader, "num_attention_heads", c.num_attention_heads, kMostParts);
  c.num_key_value_heads = reader.get_int_or(
      "num_key_value_heads", defaults.num_key_value_heads > 0 ? defaults.num_key_value_heads : c.num_attention_heads);
  check_size(reader, "num_key_value_heads", c.num_key_value_heads, kMostParts);
  if (c.num_attention_heads % c.num_key_value_heads != 0)
    reader.fail_field("num_key_value_heads", format("a divisor of num_attention_heads {}", c.num_attention_heads));
  c.head_dim = reader.get_int_or("head_dim",
                                 defaults.head_dim > 0 ? defaults.head_dim : c.hidden_size / c.num_attention_heads);
  check_size(reader, "head_dim", c.head_dim, kMostWidth);
  if (c.head_dim % 2 != 0) reader.fail_field("head_dim", "an even number (rotary embedding)");
  c.max_position_embeddings = reader.get_int("max_position_embeddings");
  c.rms_norm_eps = reader.get_double_or("rms_norm_eps", defaults.rms_norm_eps);
  reader.check_range("rms_norm_eps", c.rms_norm_eps, 1e-30, 1);  // 0 would divide a row of zeros by zero
  c.initializer_range = reader.get_double_or("initializer_range", 0.02);
  reader.check_range("initializer_range", c.initializer_range, 0, 100);
  c.tie_word_embeddings = reader.get_bool_or("tie_word_embeddings", false);
  c.pad_token_id = read_pad_token_id(reader, c.vocab_size);
  c.bos_token_id = reader.get_int_or("bos_token_id", -1);
  reader.check_range("bos_token_id", c.bos_token_id, -1, kMostRows);
  c.eos_token_ids = read_eos_token_ids(reader);
  reader.expect("hidden_act", "silu");
  reader.expect("attention_dropout", 0.0);
  c.sliding_window.assign(static_cast<size_t>(c.num_hidden_layers), 0);
  c.ropes = {{"", read_rope_config(reader, {.default_theta = defaults.rope_theta}), c.head_dim}};
  check_rope(reader, c.ropes[0]);
  return c;
}

void check_window(const ConfigReader& reader, int64_t window) {
  reader.check_range("sliding_window", window, 1, std::numeric_limits<int32_t>::max());
}

std::vector<int64_t> read_eos_token_ids(ConfigReader& reader) {
  std::vector<int64_t> ids = reader.find_int_or_ints("eos_token_id");
  for (const int64_t id : ids) reader.check_range("eos_token_id", id, -1, kMostRows);
  return ids;
}

void read_qwen_sliding_window(ConfigReader& reader, ModelConfig& config) {
  const bool use = reader.get_bool_or("use_sliding_window", false);
  const int64_t window = reader.get_int_or("sliding_window", 4096);
  const int64_t first = reader.get_int_or("max_window_layers", 28);
  reader.check_range("max_window_layers", first, 0, std::numeric_limits<int32_t>::max());
  const auto layer_types = reader.find_strings("layer_types");
  const auto layers = static_cast<size_t>(config.num_hidden_layers);
  if (layer_types && layer_types->size() != layers)
    reader.fail_field("layer_types", format("{} entries, one per layer", layers));
  if (use) check_window(reader, window);
  for (size_t i = 0; i < layers; ++i) {
    bool slides = use && static_cast<int64_t>(i) >= first;
    if (layer_types) {
      const std::string& type = (*layer_types)[i];
      if (type != "full_attention" && type != "sliding_attention")
        fail(ErrorKind::unsupported, "{}: layer_types holds \"{}\"; full_attention and sliding_attention are supported",
             reader.source(), type);
      slides = type == "sliding_attention";
      if (slides && !use)
        fail(ErrorKind::unsupported, "{}: layer_types asks for sliding_attention while use_sliding_window is false",
             reader.source());
    }
    config.sliding_window[i] = slides ? window : 0;
  }
}

std::vector<std::string> qwen_sliding_window_features(const ModelConfig& config) {
  const Json* layer_types = config.json.find("layer_types");
  const bool listed = layer_types != nullptr && !layer_types->is_null();
  const bool slides = std::ranges::any_of(config.sliding_window, [](int64_t window) { return window > 0; });
  if (listed || !slides) return {};
  return {"layer_types:from_max_window_layers"};
}

}  // namespace lemnos
