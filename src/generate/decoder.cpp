#include "generate/decoder.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "models/model_builder.h"
#include "models/rope_table.h"
#include "ops/linear/linear.h"
#include "runtime/profile.h"

namespace lemnos {
namespace {

struct Planned {
  Graph graph;
  ValueId logits;
  ArenaPlan arena;
};

/// `width` tokens a run. Only the single-token graph has the head: a prompt needs logits once.
Planned decode_graph(const DecoderSetup& setup, int64_t width, const LinearHook* hook) {
  Planned planned;
  Builder builder(planned.graph);
  BuildOptions options{.tokens = width, .positions = width, .hook = hook, .cache_capacity = setup.capacity + kPromptChunk};
  options.dtype = [&setup](const std::string& name) {
    const auto found = setup.dtypes.find(name);
    return found == setup.dtypes.end() ? DType::f32 : found->second;
  };
  ModelBuilder m(builder, setup.model, options);
  const ValueId hidden = setup.model.family->build(m, setup.model);
  const ValueId head = head_weight(m, setup.model);
  planned.logits = width == 1 ? ops::linear(builder, hidden, head) : hidden;
  planned.graph.results = {planned.logits};
  return planned;
}

}  // namespace

struct Decoder::Parts {
  Parts(vk::Device& device, Planned one, Planned many, StoragePlan plan, const ArenaSizes& arena, bool gpu_path)
      : storage(device, std::move(plan), arena),
        pipelines(device),
        logits(one.logits),
        token(storage, pipelines, std::move(one.graph), std::move(one.arena), {.gpu_path = gpu_path}),
        prompt(storage, pipelines, std::move(many.graph), std::move(many.arena), {.gpu_path = gpu_path}) {}

  Storage storage;
  vk::PipelineCache pipelines;
  ValueId logits;
  Program token, prompt;
};

Decoder::Decoder(vk::Device& device, DecoderSetup setup) : setup_(std::move(setup)) {
  std::unique_ptr<LoraHook> hook;
  if (setup_.lora) {
    const auto targets = resolve_targets(setup_.lora->target_modules, outline(setup_.model).modules);
    hook = std::make_unique<LoraHook>(*setup_.lora, targets, /*trainable=*/false, /*dropout=*/false);
  }
  const PlanOptions options{.max_block_bytes = profile_of(device).max_allocation_bytes};
  Planned one = decode_graph(setup_, 1, hook.get()), many = decode_graph(setup_, kPromptChunk, hook.get());
  for (Planned* planned : {&one, &many}) planned->arena = plan_arena(planned->graph, options);
  const Graph* graphs[] = {&one.graph, &many.graph};
  const ArenaPlan* arenas[] = {&one.arena, &many.arena};
  StoragePlan storage = plan_storage(graphs, options);
  const ArenaSizes arena = merge_arenas(arenas);
  parts_ = std::make_unique<Parts>(device, std::move(one), std::move(many), std::move(storage), arena, setup_.gpu_path);
  // Rows beyond the length are read by nobody, but must not hold NaN from earlier use of the memory.
  for (const ValueId id : graph().of_kind(ValueKind::state)) parts_->storage.clear(graph()[id].name);
}

Decoder::~Decoder() = default;

Storage& Decoder::storage() { return parts_->storage; }
const Graph& Decoder::graph() const { return parts_->token.graph(); }

void Decoder::run(Program& program, std::span<const int32_t> tokens, int64_t width, int64_t longest) {
  const auto count = static_cast<size_t>(width);
  std::vector<int32_t> ids(count, 0), rows(count);
  std::copy(tokens.begin(), tokens.end(), ids.begin());
  for (size_t i = 0; i < count; ++i) rows[i] = static_cast<int32_t>(i);
  program.write_input("input_ids", ids);
  program.write_input("positions", rows);  // rows of the tables below, which start at length()
  program.write_input("cache_length", std::vector<int32_t>{static_cast<int32_t>(length_)});
  for (const RopeSpec& spec : setup_.model.ropes) {
    if (!program.graph().find("rope_cos" + spec.suffix).valid()) continue;
    const RopeTable table = rope_table(rope_frequencies(spec.config, spec.head_dim, longest), width, length_);
    program.write_input("rope_cos" + spec.suffix, table.cos);
    program.write_input("rope_sin" + spec.suffix, table.sin);
  }
  program.run(Section::micro);
  length_ += static_cast<int64_t>(tokens.size());
}

std::vector<float> Decoder::feed(std::span<const int32_t> tokens) {
  LEMNOS_CHECK(!tokens.empty());
  const int64_t longest = length_ + std::ssize(tokens);
  if (longest > setup_.capacity)
    fail(ErrorKind::usage, "{} tokens do not fit the {} that were planned for", longest, setup_.capacity);
  for (const int32_t token : tokens)
    if (token < 0 || token >= setup_.model.vocab_size)
      fail(ErrorKind::usage, "token id {} is outside of the model's {} rows", token, setup_.model.vocab_size);
  while (tokens.size() > 1) {
    const size_t part = std::min<size_t>(tokens.size() - 1, kPromptChunk);
    run(parts_->prompt, tokens.first(part), kPromptChunk, longest);
    parts_->prompt.wait();
    tokens = tokens.subspan(part);
  }
  run(parts_->token, tokens, 1, longest);
  const std::vector<std::byte> bytes = parts_->token.read(parts_->logits);
  std::vector<float> logits(bytes.size() / sizeof(float));
  std::memcpy(logits.data(), bytes.data(), bytes.size());
  return logits;
}

}  // namespace lemnos
