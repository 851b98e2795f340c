#include "train/proof_gate.h"

#include <algorithm>

#include "base/error.h"
#include "base/log.h"

namespace lemnos::train {
namespace {

std::string advice(const proof::Coverage& coverage) {
  const bool stale = std::ranges::any_of(coverage.missing, [](const proof::Missing& m) { return m.lack == proof::Lack::stale; });
  return lemnos::format("`lemnos architectures` lists the features that are proven{}", stale ? ", scripts/qualify makes records anew" : "");
}

}  // namespace

proof::Coverage require_proven(const proof::Claim& claim, std::span<const proof::Record> records, bool allow_unqualified) {
  proof::Coverage coverage = proof::cover(claim, records);
  if (coverage.proven()) return coverage;
  if (!allow_unqualified)
    fail(ErrorKind::unsupported, "{}. {}; --allow-unqualified trains nevertheless", coverage.text(), advice(coverage));
  log_warning("{}; training nevertheless, as allow_unqualified asks", coverage.text());
  return coverage;
}

}  // namespace lemnos::train
