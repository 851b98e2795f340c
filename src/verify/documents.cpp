#include "verify/documents.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "graph/autodiff.h"

namespace lemnos {
namespace {

constexpr const char* kEmbedding = "model.embed_tokens.weight";

/// A run of one segment in one row.
struct Document {
  size_t first = 0;
  size_t length = 0;
};

std::vector<Document> documents_of(const data::Batch& batch) {
  std::vector<Document> documents;
  for (const int64_t length : segment_lengths(batch)) {
    const size_t first = documents.empty() ? 0 : documents.back().first + documents.back().length;
    documents.push_back({first, static_cast<size_t>(length)});
  }
  return documents;
}

/// Each token stands once, so that a row of the embedding's gradient is what reaches one position.
data::Batch with_distinct_tokens(data::Batch batch, int64_t vocabulary) {
  LEMNOS_CHECK(std::ssize(batch.input_ids) <= vocabulary, "{} tokens, {} ids", batch.input_ids.size(), vocabulary);
  for (size_t i = 0; i < batch.input_ids.size(); ++i) {
    batch.input_ids[i] = static_cast<int32_t>(i);
    if (batch.labels[i] != data::kIgnoredLabel) batch.labels[i] = batch.input_ids[i];
  }
  return batch;
}

data::Batch alone(const data::Batch& packed, const Document& document) {
  const auto part = [&](const std::vector<int32_t>& values) {
    const auto begin = values.begin() + static_cast<ptrdiff_t>(document.first);
    return std::vector<int32_t>(begin, begin + static_cast<ptrdiff_t>(document.length));
  };
  return {.rows = 1,
          .length = static_cast<int64_t>(document.length),
          .input_ids = part(packed.input_ids),
          .labels = part(packed.labels),
          .positions = part(packed.positions),
          .segments = std::vector<int32_t>(document.length, 0)};
}

/// The model with a head of its own and every token trained: what the embedding's gradient holds then
/// came through the layers alone.
EngineSetup setup_of(const ReferenceRun& run, const data::Batch& packed, const std::vector<Document>& documents) {
  EngineSetup setup = run.setup();
  setup.model.tie_word_embeddings = false;
  setup.model.pad_token_id = -1;
  if (const auto embedding = setup.dtypes.find(kEmbedding); embedding != setup.dtypes.end())
    setup.dtypes.emplace("lm_head.weight", embedding->second);
  for (const Document& document : documents) setup.buckets.push_back({packed.rows, static_cast<int64_t>(document.length), 1});
  std::sort(setup.buckets.begin(), setup.buckets.end());
  setup.buckets.erase(std::unique(setup.buckets.begin(), setup.buckets.end()), setup.buckets.end());
  return setup;
}

void copy_weights(Storage& from, const Graph& from_graph, Engine& to) {
  for (const ValueId id : to.graph().of_kind(ValueKind::parameter)) {
    const std::string& name = to.graph()[id].name;
    to.storage().write(name, from.read(from_graph.find(name).valid() ? name : kEmbedding));
  }
}

struct Outcome {
  std::vector<float> logits;
  std::vector<std::byte> gradients;  // a row for each id
};

Outcome run_batch(Engine& engine, const data::Batch& batch, bool gradients) {
  Outcome outcome{.logits = engine.logits(batch)};
  if (!gradients) return outcome;
  StepParams sum_loss;
  sum_loss.set_loss_scale(1);
  engine.begin_window();
  engine.micro(batch, sum_loss);
  engine.result();
  outcome.gradients = engine.storage().read(gradient_name(kEmbedding));
  return outcome;
}

/// `whole` holds rows of `width` values; `part` those of the document alone, from its `own` row on.
template <typename T>
bool same_rows(const std::vector<T>& whole, const std::vector<T>& part, size_t rows, const Document& document, size_t own) {
  const size_t width = whole.size() / rows, bytes = width * document.length * sizeof(T);
  return std::memcmp(whole.data() + width * document.first, part.data() + width * own, bytes) == 0;
}

}  // namespace

bool documents_have_their_own_bits(const Bench& bench, ReferenceRun& run, const Reference& reference) {
  if (reference.batch.rows != 1) fail(ErrorKind::unsupported, "{}: documents are packed into one row", reference.name);
  const auto vocabulary = static_cast<size_t>(reference.model.vocab_size);
  const data::Batch packed = with_distinct_tokens(reference.batch, reference.model.vocab_size);
  const std::vector<Document> documents = documents_of(packed);
  const bool gradients = !run.setup().lora;
  Engine engine = bench.make_engine(setup_of(run, packed, documents));
  copy_weights(run.storage(), run.graph(), engine);
  const Outcome together = run_batch(engine, packed, gradients);
  return std::all_of(documents.begin(), documents.end(), [&](const Document& document) {
    const Outcome own = run_batch(engine, alone(packed, document), gradients);
    return same_rows(together.logits, own.logits, packed.input_ids.size(), document, 0) &&
           (!gradients || same_rows(together.gradients, own.gradients, vocabulary, document, document.first));
  });
}

}  // namespace lemnos
