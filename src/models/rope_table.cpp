#include "models/rope_table.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"

// Every step below is rounded to float exactly where PyTorch rounds it: a Python number that meets
// a float tensor becomes a float first, and number / tensor is number * (1 / tensor), two
// roundings.
namespace lemnos {
namespace {

/// Correctly rounded in all but about one case of 2^29.
float power(float base, float exponent) {
  return static_cast<float>(std::pow(double{base}, double{exponent}));
}

float divide_number_by(double number, float tensor) {
  return (1.0f / tensor) * static_cast<float>(number);
}

/// base ** (arange(0, dim, 2) / dim)
std::vector<float> position_frequencies(float base, int64_t dim) {
  std::vector<float> result;
  for (int64_t i = 0; i < dim; i += 2)
    result.push_back(power(base, static_cast<float>(i) / static_cast<float>(dim)));
  return result;
}

std::vector<float> default_inv_freq(float base, int64_t dim) {
  std::vector<float> inv_freq = position_frequencies(base, dim);
  for (float& value : inv_freq) value = 1.0f / value;
  return inv_freq;
}

double ratio_of_lengths(const RopeConfig& rope) {
  return static_cast<double>(rope.max_position_embeddings) /
         static_cast<double>(rope.original_max_position_embeddings);
}

RopeFrequencies linear(const RopeConfig& rope, int64_t dim) {
  std::vector<float> inv_freq = default_inv_freq(static_cast<float>(rope.theta), dim);
  for (float& value : inv_freq) value /= static_cast<float>(*rope.factor);
  return {std::move(inv_freq), 1.0};
}

/// Within the trained length the base is a Python number (double); beyond it, a float tensor.
float dynamic_base(const RopeConfig& rope, int64_t dim, int64_t sequence_length) {
  const double factor = *rope.factor;
  const double exponent = static_cast<double>(dim) / static_cast<double>(dim - 2);
  const auto trained = static_cast<double>(rope.max_position_embeddings);
  if (sequence_length <= rope.max_position_embeddings)
    return static_cast<float>(rope.theta *
                              std::pow(factor * trained / trained - (factor - 1), exponent));
  const float scaled = static_cast<float>(factor) * static_cast<float>(sequence_length);
  const float growth = scaled / static_cast<float>(trained) - static_cast<float>(factor - 1);
  return power(growth, static_cast<float>(exponent)) * static_cast<float>(rope.theta);
}

RopeFrequencies dynamic(const RopeConfig& rope, int64_t dim, int64_t sequence_length) {
  if (dim <= 2) fail(ErrorKind::unsupported, "dynamic rope needs more than 2 rotary dimensions");
  return {default_inv_freq(dynamic_base(rope, dim, sequence_length), dim), 1.0};
}

RopeFrequencies llama3(const RopeConfig& rope, int64_t dim) {
  const auto original = static_cast<double>(rope.original_max_position_embeddings);
  const auto factor = static_cast<float>(*rope.factor);
  const auto low_wavelength = static_cast<float>(original / rope.low_freq_factor);
  const auto high_wavelength = static_cast<float>(original / rope.high_freq_factor);
  const auto low = static_cast<float>(rope.low_freq_factor);
  const auto range = static_cast<float>(rope.high_freq_factor - rope.low_freq_factor);
  std::vector<float> inv_freq = default_inv_freq(static_cast<float>(rope.theta), dim);
  for (float& value : inv_freq) {
    const float wavelength = divide_number_by(2 * std::numbers::pi, value);
    if (wavelength > low_wavelength) {
      value = value / factor;
    } else if (!(wavelength < high_wavelength)) {
      const float smooth = (divide_number_by(original, wavelength) - low) / range;
      value = (1.0f - smooth) * value / factor + smooth * value;
    }
  }
  return {std::move(inv_freq), 1.0};
}

double yarn_mscale(double scale, double mscale) {
  return scale <= 1 ? 1.0 : 0.1 * mscale * std::log(scale) + 1.0;
}

double yarn_attention_factor(const RopeConfig& rope, double factor) {
  if (rope.attention_factor) return *rope.attention_factor;
  if (rope.mscale && rope.mscale_all_dim)
    return yarn_mscale(factor, *rope.mscale) / yarn_mscale(factor, *rope.mscale_all_dim);
  return yarn_mscale(factor, 1);
}

/// Between which pairs the blend runs, in pairs.
struct YarnRange {
  double low;
  double high;
};

YarnRange yarn_range(const RopeConfig& rope, int64_t dim) {
  const auto width = static_cast<double>(dim);
  const auto correction = [&](double rotations) {
    const auto length = static_cast<double>(rope.original_max_position_embeddings);
    return width * std::log(length / (rotations * 2 * std::numbers::pi)) /
           (2 * std::log(rope.theta));
  };
  double low = correction(rope.beta_fast);
  double high = correction(rope.beta_slow);
  if (rope.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, width - 1);
  return {low, low == high ? high + 0.001 : high};
}

RopeFrequencies yarn(const RopeConfig& rope, int64_t dim) {
  const double factor = rope.factor ? *rope.factor : ratio_of_lengths(rope);
  const YarnRange range = yarn_range(rope, dim);
  std::vector<float> inv_freq = position_frequencies(static_cast<float>(rope.theta), dim);
  for (size_t i = 0; i < inv_freq.size(); ++i) {
    const float extrapolated = 1.0f / inv_freq[i];
    const float interpolated = 1.0f / (static_cast<float>(factor) * inv_freq[i]);
    const float position = static_cast<float>(i) - static_cast<float>(range.low);
    const float ramp =
        std::clamp(position / static_cast<float>(range.high - range.low), 0.0f, 1.0f);
    const float kept = 1.0f - ramp;
    inv_freq[i] = interpolated * (1.0f - kept) + extrapolated * kept;
  }
  return {std::move(inv_freq), yarn_attention_factor(rope, factor)};
}

double longrope_attention_factor(const RopeConfig& rope) {
  if (rope.attention_factor) return *rope.attention_factor;
  const double factor = rope.factor ? *rope.factor : ratio_of_lengths(rope);
  if (factor <= 1) return 1.0;
  const auto original = static_cast<double>(rope.original_max_position_embeddings);
  return std::sqrt(1 + std::log(factor) / std::log(original));
}

RopeFrequencies longrope(const RopeConfig& rope, int64_t dim, int64_t sequence_length) {
  const bool is_long = sequence_length > rope.original_max_position_embeddings;
  const std::vector<double>& factors = is_long ? rope.long_factor : rope.short_factor;
  std::vector<float> inv_freq = position_frequencies(static_cast<float>(rope.theta), dim);
  if (factors.size() != inv_freq.size())
    fail(ErrorKind::corrupt_input,
         "\"{}\" has {} entries; {} rotary dimensions need {}",
         is_long ? "long_factor" : "short_factor", factors.size(), dim, inv_freq.size());
  for (size_t i = 0; i < inv_freq.size(); ++i)
    inv_freq[i] = 1.0f / (static_cast<float>(factors[i]) * inv_freq[i]);
  return {std::move(inv_freq), longrope_attention_factor(rope)};
}

}  // namespace

RopeFrequencies rope_frequencies(const RopeConfig& rope, int64_t head_dim,
                                 int64_t sequence_length) {
  const auto dim = static_cast<int64_t>(static_cast<double>(head_dim) * rope.partial_rotary_factor);
  if (dim < 2 || dim % 2 != 0)
    fail(ErrorKind::unsupported,
         "rope needs an even number of rotary dimensions, found {} of a head's {}", dim, head_dim);
  if (rope.rope_type == "linear") return linear(rope, dim);
  if (rope.rope_type == "dynamic") return dynamic(rope, dim, sequence_length);
  if (rope.rope_type == "llama3") return llama3(rope, dim);
  if (rope.rope_type == "yarn") return yarn(rope, dim);
  if (rope.rope_type == "longrope") return longrope(rope, dim, sequence_length);
  LEMNOS_CHECK(rope.rope_type == "default", "rope type {}", rope.rope_type);
  return {default_inv_freq(static_cast<float>(rope.theta), dim), 1.0};
}

RopeTable rope_table(const RopeFrequencies& frequencies, int64_t positions, int64_t first) {
  RopeTable table;
  table.positions = positions;
  table.pairs = static_cast<int64_t>(frequencies.inv_freq.size());
  const auto scaling = static_cast<float>(frequencies.attention_scaling);
  table.cos.reserve(static_cast<size_t>(positions * table.pairs));
  table.sin.reserve(static_cast<size_t>(positions * table.pairs));
  for (int64_t position = first; position < first + positions; ++position)
    for (const float inv_freq : frequencies.inv_freq) {
      const double angle = inv_freq * static_cast<float>(position);
      table.cos.push_back(static_cast<float>(std::cos(angle)) * scaling);
      table.sin.push_back(static_cast<float>(std::sin(angle)) * scaling);
    }
  return table;
}

}  // namespace lemnos
