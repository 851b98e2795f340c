// A sequence may reach the caches in any pieces: the next token's logits have the bits of the forward
// pass over the whole prefix.
#include "generate/decoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "support/toy_engine.h"

namespace lemnos::test {
namespace {

using Pieces = std::vector<int64_t>;

constexpr int64_t kCapacity = 80;

std::vector<int32_t> some_tokens(int64_t count) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < count; ++i) ids.push_back(static_cast<int32_t>((i * i * 7 + i) % 40));
  return ids;
}

class DecoderTest : public DeviceTest {
 protected:
  std::unique_ptr<Decoder> decoder(const ModelConfig& model, const std::optional<LoraConfig>& lora = {}) {
    auto made = std::make_unique<Decoder>(device(), DecoderSetup{.model = model, .lora = lora, .capacity = kCapacity});
    fill_with_toy_values(made->storage(), made->graph());
    return made;
  }

  /// Logits [T, V] of the forward pass that training has.
  std::vector<float> forward(const ModelConfig& model, const std::optional<LoraConfig>& lora,
                             const std::vector<int32_t>& tokens) {
    const int64_t length = std::ssize(tokens);
    data::Batch batch{.rows = 1, .length = length, .input_ids = tokens};
    batch.labels.assign(tokens.size(), data::kIgnoredLabel);
    batch.positions.resize(tokens.size());
    std::iota(batch.positions.begin(), batch.positions.end(), 0);
    batch.segments.assign(tokens.size(), 0);
    const EngineSetup setup{.model = model, .buckets = {{1, length, 1}}, .lora = lora,
                            .train = false, .want_loss = false, .want_logits = true};
    return toy_engine(setup)->logits(batch);
  }

  void expect_any_pieces_give_the_same(const ModelConfig& model, const std::optional<LoraConfig>& lora = {}) {
    const std::vector<int32_t> tokens = some_tokens(70);
    const std::vector<float> all = forward(model, lora, tokens);
    const auto vocabulary = static_cast<size_t>(model.vocab_size);
    const auto cached = decoder(model, lora);
    for (const Pieces& pieces : {Pieces{70}, {1, 1, 1, 67}, {66, 3, 1}, {2, 64, 4}}) {
      cached->reset();
      for (const int64_t count : pieces) {
        const std::span piece = std::span(tokens).subspan(static_cast<size_t>(cached->length()), static_cast<size_t>(count));
        const std::vector<float> logits = cached->feed(piece);
        const auto last = all.begin() + static_cast<ptrdiff_t>(static_cast<size_t>(cached->length() - 1) * vocabulary);
        EXPECT_TRUE(std::equal(logits.begin(), logits.end(), last, last + static_cast<ptrdiff_t>(vocabulary)))
            << model.family->model_type << ": piece of " << count << " up to " << cached->length();
      }
    }
  }
};

TEST_F(DecoderTest, PiecesGiveTheBitsOfTheWholePrefix) {
  for (const ModelConfig& model :
       {toy_model("llama", R"({"num_hidden_layers": 1})"),
        toy_model("mistral", R"({"num_hidden_layers": 1, "sliding_window": 9})"),
        toy_model("qwen3", R"({"num_hidden_layers": 1, "head_dim": 8, "tie_word_embeddings": true})"),
        toy_model("mixtral", R"({"num_hidden_layers": 1, "num_local_experts": 4, "num_experts_per_tok": 2})")})
    expect_any_pieces_give_the_same(model);
}

TEST_F(DecoderTest, WithAnAdapterToo) {
  expect_any_pieces_give_the_same(toy_model("llama"),
                                  LoraConfig{.r = 2, .lora_alpha = 4, .target_modules = {std::string("all-linear")}});
}

/// The base of dynamic RoPE follows the length of the whole prompt, however it is cut for the device.
TEST_F(DecoderTest, ADynamicBaseIsThatOfTheWholePrompt) {
  const ModelConfig model =
      toy_model("llama", R"({"max_position_embeddings": 16, "rope_scaling": {"type": "dynamic", "factor": 2.0}})");
  const std::vector<int32_t> tokens = some_tokens(70);
  const std::vector<float> all = forward(model, {}, tokens);
  const std::vector<float> logits = decoder(model)->feed(tokens);
  EXPECT_TRUE(std::equal(logits.begin(), logits.end(), all.end() - model.vocab_size));
}

TEST_F(DecoderTest, WhatDoesNotFitIsAnError) {
  const auto cached = decoder(toy_model());
  EXPECT_THROW(cached->feed(std::vector<int32_t>{40}), Error);
  EXPECT_THROW(cached->feed(std::vector<int32_t>{3, -1}), Error);
  EXPECT_THROW(cached->feed(some_tokens(kCapacity + 1)), Error);
  EXPECT_EQ(cached->length(), 0) << "nothing was taken";
  const std::vector<float> full = cached->feed(some_tokens(kCapacity));
  EXPECT_THROW(cached->feed(std::vector<int32_t>{1}), Error);
  cached->reset();
  EXPECT_EQ(cached->feed(some_tokens(kCapacity)), full);
}

}  // namespace
}  // namespace lemnos::test
