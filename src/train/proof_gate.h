#pragma once

#include <span>

#include "proof/coverage.h"

namespace lemnos::train {

/// Error{unsupported} naming what is missing and --allow-unqualified, unless the records prove the claim
/// or `allow_unqualified` is set, which logs a warning instead. Returns what was found.
proof::Coverage require_proven(const proof::Claim& claim, std::span<const proof::Record> records, bool allow_unqualified);

}  // namespace lemnos::train
