#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "io/safetensors_writer.h"

namespace lemnos {

/// Takes the next bytes of a tensor: whole elements, in order, as many calls as suits.
using ByteSink = std::function<void(std::span<const std::byte>)>;

/// A tensor and how to get its bytes, which are asked for once, when their turn comes; so device
/// memory can be streamed and no copy of the model is needed.
struct TensorSource {
  TensorPlan plan;
  std::function<void(const ByteSink&)> stream;
};

/// The same tensor; streaming it fails with Error{usage} at the first value that is not finite. For F32.
TensorSource only_finite(TensorSource source);

struct CheckpointWriteOptions {
  std::string_view stem = "model";
  uint64_t max_shard_bytes = 5'000'000'000;
  /// Floating tensors are converted to this dtype; without it each keeps its own.
  std::optional<FileDType> dtype = std::nullopt;
};

/// Writes `<stem>.safetensors`, or, beyond `max_shard_bytes`, `<stem>-0000i-of-0000n.safetensors`
/// and the index, split and named as save_pretrained does for tensors in this order. `folder` must
/// not hold weights of that stem already (stage into an AtomicDir). Names must be unique.
void write_checkpoint(const std::filesystem::path& folder, const std::vector<TensorSource>& tensors,
                      const CheckpointWriteOptions& options = {});

}  // namespace lemnos
