#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "graph/memory_plan.h"
#include "models/model.h"
#include "ops/attention/tiles.h"
#include "peft/lora.h"
#include "runtime/program.h"
#include "vk/device.h"

namespace lemnos {

/// Tokens of a prompt that go through the model together; the caches end in as many spare rows.
inline constexpr int64_t kPromptChunk = 64;
/// The largest capacity.
inline constexpr int64_t kMostDecoderTokens = kMaxAttentionSegment - kPromptChunk;

struct DecoderSetup {
  ModelConfig model;
  std::optional<LoraConfig> lora;
  std::map<std::string, DType> dtypes;  // of frozen parameters
  int64_t capacity = 0;                 // tokens that the caches hold
  bool gpu_path = false;
};

/// One sequence with key-value caches: tokens in, the next token's logits out. The logits are, bit for
/// bit, those of the forward pass over the whole sequence, however it was fed. (Types dynamic and
/// longrope rotate keys by the length at the time they are fed, as Transformers' cache does.)
class Decoder {
 public:
  Decoder(vk::Device& device, DecoderSetup setup);
  ~Decoder();

  /// To be filled with weights (load_weights, load_adapter).
  Storage& storage();
  const Graph& graph() const;

  int64_t length() const { return length_; }
  int64_t capacity() const { return setup_.capacity; }
  /// Forgets the sequence.
  void reset() { length_ = 0; }

  /// Appends the tokens (at least one) and returns the logits [V] after the last. Error{usage} when
  /// they do not fit the capacity.
  std::vector<float> feed(std::span<const int32_t> tokens);

 private:
  struct Parts;
  /// `longest`: the length that RoPE of types dynamic and longrope depends on.
  void run(Program& program, std::span<const int32_t> tokens, int64_t width, int64_t longest);

  DecoderSetup setup_;
  std::unique_ptr<Parts> parts_;
  int64_t length_ = 0;
};

}  // namespace lemnos
