#pragma once

#include "train/engine_plan.h"

namespace lemnos {

/// Plans the arenas of `plan.training`, whose storage and other arenas are planned, and rewrites the
/// graphs as `setup.checkpointing` says: `every_layer` takes all of recompute_steps(), which keeps the
/// layers' inputs alone; `when_needed` takes the fewest, in their order, with which the whole plan fits
/// `setup.memory_limit`, or all of them when it never does.
void plan_with_recompute(EnginePlan& plan, const EngineSetup& setup, const PlanOptions& options);

/// "swiglu in 24 places, 3 whole layers (2.1 % more multiply-adds)"; empty when nothing is made again.
std::string to_string(const Recomputed& recomputed);

}  // namespace lemnos
