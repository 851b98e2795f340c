#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "io/checkpoint.h"
#include "io/checkpoint_writer.h"
#include "models/model.h"
#include "runtime/storage.h"

namespace lemnos {

/// Frozen parameters stay in their file's type on the device: f16 or bf16 where every slice of a
/// parameter is stored so, else f32.
std::map<std::string, DType> stored_dtypes(const ModelConfig& config, const std::vector<Value>& parameters,
                                           const Checkpoint& checkpoint);

/// Names must match both ways: what is missing, or left over and not ignorable, is one
/// Error{corrupt_input} that lists it. Shapes must be the config's; a tied head that is stored too must
/// equal the embedding.
void check_weights(const ModelConfig& config, const std::vector<Value>& parameters, const Checkpoint& checkpoint);

/// Fills every base parameter of `graph` from a checkpoint, after check_weights.
void load_weights(Storage& storage, const Graph& graph, const ModelConfig& config, const Checkpoint& checkpoint);

/// Fills the adapter's parameters from adapter_model.safetensors, names matching both ways.
void load_adapter(Storage& storage, const Graph& graph, const Checkpoint& adapter);

/// Starting values from scratch, as Transformers initialises: normal(0, initializer_range) for
/// matrices, ones for norms, zeros for biases and the padding row. A function of seed and name only.
void initialise_weights(Storage& storage, const Graph& graph, const ModelConfig& config, uint64_t seed);
/// LoRA's: A as PEFT's default, B zero.
void initialise_adapter(Storage& storage, const Graph& graph, uint64_t seed);

/// The parameters as they go to disk, under their disk names, streamed from the device.
/// `adapter`: only PEFT's; else only the base model's.
std::vector<TensorSource> tensor_sources(Storage& storage, const Graph& graph, const ModelConfig& config, bool adapter);

}  // namespace lemnos
