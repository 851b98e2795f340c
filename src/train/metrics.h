#pragma once

#include <filesystem>

#include "base/json.h"

namespace lemnos::train {

/// metrics.jsonl in the run's folder: one object per logged step.
void append_metrics(const std::filesystem::path& run_folder, const Json& row);

/// Keeps the rows up to `step` (those of a resumed run), or none for step 0.
void restart_metrics(const std::filesystem::path& run_folder, int64_t step);

}  // namespace lemnos::train
