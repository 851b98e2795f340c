#pragma once

#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "data/batch.h"
#include "models/model.h"
#include "models/rope_table.h"
#include "ops/optim/step_params.h"
#include "runtime/program.h"
#include "train/engine_plan.h"

namespace lemnos {

/// Writes every input that a program of `bucket` declares, from a batch and the step's parameters.
/// RoPE tables are kept per length.
class InputWriter {
 public:
  explicit InputWriter(const ModelConfig& model) : model_(model) {}

  void write(Program& program, const Bucket& bucket, const data::Batch& batch, const StepParams& step);

 private:
  void write_rope(Program& program, const Bucket& bucket, const data::Batch& batch);
  const RopeTable& table_of(const RopeSpec& spec, int64_t longest, int64_t length);

  const ModelConfig& model_;
  std::map<std::tuple<std::string, int64_t, int64_t>, RopeTable> tables_;
};

/// Lengths of the segments of a batch in row order: documents and padding tails.
std::vector<int64_t> segment_lengths(const data::Batch& batch);

}  // namespace lemnos
