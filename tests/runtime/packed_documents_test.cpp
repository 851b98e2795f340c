// A document packed into a row has the bits of the document alone: its logits, and the gradients that
// reach its tokens, through a whole model.
#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>

#include "support/toy_engine.h"

namespace lemnos::test {
namespace {

/// A row of documents, their tokens all different.
data::Batch row_of(const std::vector<int64_t>& documents, int32_t first_token) {
  data::Batch batch{.rows = 1};
  for (size_t d = 0; d < documents.size(); ++d)
    for (int64_t t = 0; t < documents[d]; ++t) {
      batch.input_ids.push_back(first_token++);
      batch.positions.push_back(static_cast<int32_t>(t));
      batch.segments.push_back(static_cast<int32_t>(d));
    }
  batch.length = std::ssize(batch.input_ids);
  batch.labels = batch.input_ids;
  for (const int32_t target : data::targets_of(batch)) batch.supervised += target >= 0 ? 1 : 0;
  return batch;
}

struct Outcome {
  std::vector<float> logits;     // [T, V]
  std::vector<float> gradients;  // [V, H], the embedding's
};

Outcome run(const ModelConfig& model, const data::Batch& batch, bool gpu_path) {
  const EngineSetup setup{.model = model, .buckets = {{1, batch.length, 2}}, .want_logits = true};
  const auto engine = toy_engine(setup, {.gpu_path = gpu_path});
  Outcome outcome{.logits = engine->logits(batch)};
  StepParams sum_loss;
  sum_loss.set_loss_scale(1);
  engine->begin_window();
  engine->micro(batch, sum_loss);
  outcome.gradients = floats_of(*engine, "grad/model.embed_tokens.weight");
  return outcome;
}

std::vector<float> rows_of(const std::vector<float>& values, size_t width, int64_t first, int64_t count) {
  const auto begin = values.begin() + static_cast<ptrdiff_t>(width) * first;
  return {begin, begin + static_cast<ptrdiff_t>(width) * count};
}

class PackedDocuments : public DeviceTest {
 protected:
  void expect_bits_of_documents_alone(const ModelConfig& model, bool gpu_path) {
    const std::vector<int64_t> documents{13, 20};
    const Outcome packed = run(model, row_of(documents, 1), gpu_path);
    const auto vocabulary = static_cast<size_t>(model.vocab_size), width = static_cast<size_t>(model.hidden_size);
    int64_t first = 0;
    for (const int64_t length : documents) {
      const auto token = static_cast<int32_t>(first + 1);
      const Outcome alone = run(model, row_of({length}, token), gpu_path);
      EXPECT_EQ(rows_of(packed.logits, vocabulary, first, length), alone.logits) << model.family->model_type << gpu_path;
      const std::vector<float> gradients = rows_of(alone.gradients, width, token, length);
      EXPECT_EQ(rows_of(packed.gradients, width, token, length), gradients) << model.family->model_type << gpu_path;
      EXPECT_NE(std::accumulate(gradients.begin(), gradients.end(), 0.0f), 0.0f);
      first += length;
    }
  }
};

TEST_F(PackedDocuments, HaveTheBitsOfTheDocumentAlone) {
  const bool cpu_path = device().cpu_path();
  for (const ModelConfig& model :
       {toy_model("mistral", R"({"sliding_window": 9})"),
        toy_model("mixtral", R"({"num_local_experts": 4, "num_experts_per_tok": 2})")}) {
    if (cpu_path) expect_bits_of_documents_alone(model, /*gpu_path=*/false);
    // A processor takes minutes to compile the GPU's kernels: in scripts/nightly.
    if (!cpu_path || std::getenv("LEMNOS_NIGHTLY") != nullptr) expect_bits_of_documents_alone(model, /*gpu_path=*/true);
  }
}

}  // namespace
}  // namespace lemnos::test
