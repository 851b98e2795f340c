#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/batch.h"
#include "io/safetensors.h"
#include "models/model.h"
#include "ops/optim/step_params.h"

namespace lemnos {

/// The frozen base's logits in a bundle of stage lora, whose "logits" are the adapter's.
inline constexpr const char* kBaseLogits = "logits/none";

/// A parity reference bundle, format 1 (docs/formats.md): the model, a batch, and what Transformers
/// computed for it.
struct Reference {
  std::filesystem::path folder;
  std::string name, stage, fixture, profile;
  ModelConfig model;
  AdamWSettings adamw;
  double learning_rate = 0;
  int64_t steps = 0;
  std::vector<double> loss;  // at step 1, 2 ...; may be empty
  bool given_gradients = false;
  bool near_zero = false;  // given_gradients only: parameters of all magnitudes
  bool packed = false;
  data::Batch batch;
  std::vector<bool> counted_tokens;  // logits are compared there
  SafetensorsFile tensors;

  /// Whether a run of it is also stopped after step 1 and resumed: where that costs little.
  bool resumes() const { return fixture == "tiny" && steps > 1 && !given_gradients; }
  /// Names of one kind without the prefix, e.g. all of "grad/".
  std::vector<std::string> names(const std::string& prefix) const;
};

/// Error{corrupt_input} for a broken bundle, Error{unsupported} for another format or stage.
Reference open_reference(const std::filesystem::path& folder);

}  // namespace lemnos
