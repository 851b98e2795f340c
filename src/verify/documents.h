#pragma once

#include "verify/reference_run.h"

namespace lemnos {

/// Whether each document of the packed batch has the bits of the document alone: its logits, and under
/// a sum loss the gradient that reaches each of its tokens (without LoRA, which asks for none). `run`
/// gives setup and weights.
bool documents_have_their_own_bits(const Bench& bench, ReferenceRun& run, const Reference& reference);

}  // namespace lemnos
