#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/hf_config.h"

namespace lemnos {

/// Rotary position embedding, as a config asks for it. Fields that the type does not use keep their
/// defaults.
struct RopeConfig {
  /// default, linear, dynamic, llama3, yarn or longrope.
  std::string rope_type = "default";
  double theta = 10000.0;
  double partial_rotary_factor = 1.0;
  int64_t max_position_embeddings = 0;
  /// 0 when the type does not use it.
  int64_t original_max_position_embeddings = 0;
  /// All but default. Absent where Transformers takes max / original positions (yarn, longrope).
  std::optional<double> factor;
  /// yarn, longrope; absent: computed.
  std::optional<double> attention_factor;
  /// yarn.
  double beta_fast = 32;
  double beta_slow = 1;
  std::optional<double> mscale;
  std::optional<double> mscale_all_dim;
  bool truncate = true;
  /// llama3.
  double low_freq_factor = 1;
  double high_freq_factor = 4;
  /// longrope: one entry for each frequency.
  std::vector<double> short_factor;
  std::vector<double> long_factor;

  bool operator==(const RopeConfig&) const = default;
};

struct RopeReadOptions {
  /// What the family takes when no theta is given.
  double default_theta = 10000.0;
  /// The entry to read where `rope_parameters` holds one object per layer type (Gemma 3, say).
  std::string layer_type = {};
  /// Fields inside the parameters that the family knows to be without effect on text.
  std::vector<std::string> ignored_fields = {};
  /// False: a partial_rotary_factor other than 1 is refused.
  bool partial_rotary = false;
};

/// Reads the old spelling (`rope_theta` and `rope_scaling` with `type` or `rope_type`) and the new
/// one
/// (`rope_parameters`), and marks their fields as read. `max_position_embeddings` must be there.
/// Both at once must say the same. Missing and unknown fields, and types not listed above, are
/// errors.
RopeConfig read_rope_config(ConfigReader& config, const RopeReadOptions& options = {});

/// The fields with both spellings, old and new, for a config that is written: `rope_theta`,
/// `rope_scaling` (null for default) and `rope_parameters`.
void write_rope_config(const RopeConfig& rope, Json& config);

}  // namespace lemnos
