#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench/roofline.h"
#include "models/model.h"
#include "train/engine.h"

namespace lemnos {

/// One training workload on random weights and tokens.
struct TrainWork {
  std::string name;     // "lora_b4_t1024"
  int64_t rows = 1;
  int64_t length = 512;
  int64_t lora_r = 16;  // 0: full training
  GemmChoice gemm = GemmChoice::automatic;
  bool bf16_base = false; // LoRA's frozen matrices as bf16 checkpoints hold them
  int64_t steps = 10;   // timed, after warm-up
  bool profile = false; // device time per kind of op
  Checkpointing checkpointing = Checkpointing::when_needed;
  int64_t memory_limit = 0;  // bytes; 0: what the device has
};

struct OpTime {
  double ms = 0;
  double flops = 0;
  double least_ms = 0;  // by the roofline, node by node
  int64_t nodes = 0;
};

struct TrainTiming {
  double tokens_per_second = 0;
  double step_ms = 0;
  int64_t peak_bytes = 0;      // planned, which is what is allocated
  int64_t driver_bytes = 0;    // what the driver took for it
  double first_step_ms = 0;    // from the engine's construction to the end of the first step
  double last_loss = 0;
  Recomputed recomputed;
  std::map<std::string, OpTime> by_op;  // with TrainWork::profile
  Roofline roofline;
};

TrainTiming time_training(vk::Device& device, const ModelConfig& model, const TrainWork& work);

}  // namespace lemnos
