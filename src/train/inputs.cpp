#include "train/inputs.h"

#include <algorithm>

#include "base/error.h"
#include "models/rope_table.h"
#include "ops/attention/tiles.h"
#include "ops/embed/embedding.h"

namespace lemnos {
namespace {

template <typename T>
void write_if_there(Program& program, std::string_view name, const std::vector<T>& values) {
  if (program.graph().find(name).valid()) program.write_input(name, values);
}

template <typename T, size_t n>
void write_if_there(Program& program, std::string_view name, const std::array<T, n>& values) {
  if (program.graph().find(name).valid()) program.write_input(name, std::as_bytes(std::span(values)));
}

/// Dropout keys: the row's number in the batch.
std::vector<int32_t> row_numbers(size_t count) {
  std::vector<int32_t> rows(count);
  for (size_t i = 0; i < count; ++i) rows[i] = static_cast<int32_t>(i);
  return rows;
}

}  // namespace

std::vector<int64_t> segment_lengths(const data::Batch& batch) {
  std::vector<int64_t> lengths;
  for (int64_t row = 0; row < batch.rows; ++row) {
    const auto first = static_cast<size_t>(row * batch.length), end = first + static_cast<size_t>(batch.length);
    for (size_t i = first; i < end;) {
      size_t j = i;
      while (j < end && batch.segments[j] == batch.segments[i]) ++j;
      lengths.push_back(static_cast<int64_t>(j - i));
      i = j;
    }
  }
  return lengths;
}

/// Tables change with the longest position for few types only; the others are made once.
const RopeTable& InputWriter::table_of(const RopeSpec& spec, int64_t longest, int64_t length) {
  const bool depends = spec.config.rope_type == "dynamic" || spec.config.rope_type == "longrope";
  RopeTable& table = tables_[{spec.suffix, depends ? longest : 0, length}];
  if (table.positions == 0) table = rope_table(rope_frequencies(spec.config, spec.head_dim, longest), length);
  return table;
}

void InputWriter::write_rope(Program& program, const Bucket& bucket, const data::Batch& batch) {
  for (const RopeSpec& spec : model_.ropes) {
    if (!program.graph().find("rope_cos" + spec.suffix).valid()) continue;
    // dynamic and longrope depend on the longest position of the batch.
    const int64_t longest = *std::max_element(batch.positions.begin(), batch.positions.end()) + 1;
    const RopeTable& table = table_of(spec, longest, bucket.length);
    program.write_input("rope_cos" + spec.suffix, table.cos);
    program.write_input("rope_sin" + spec.suffix, table.sin);
  }
}

void InputWriter::write(Program& program, const Bucket& bucket, const data::Batch& batch, const StepParams& step) {
  LEMNOS_CHECK(batch.rows == bucket.rows && batch.length == bucket.length);
  const int64_t tokens = bucket.rows * bucket.length;
  program.write_input("input_ids", batch.input_ids);
  write_if_there(program, "positions", batch.positions);
  write_if_there(program, "targets", data::targets_of(batch));
  const int64_t entries = attention_tile_count(tokens, bucket.segments);
  write_if_there(program, "attn_tiles", attention_tiles(segment_lengths(batch), tokens, entries));
  if (program.graph().find("embed_order").valid()) {
    const EmbeddingOrder order = embedding_order(batch.input_ids);
    program.write_input("embed_order", order.order);
    program.write_input("embed_rows", order.runs);
  }
  write_if_there(program, "dropout_rows", row_numbers(static_cast<size_t>(tokens)));
  write_if_there(program, "step_f32", step.floats);
  write_if_there(program, "step_i32", step.ints);
  write_rope(program, bucket, batch);
}

}  // namespace lemnos
