#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "proof/claim.h"
#include "proof/records.h"

namespace lemnos::proof {

/// Why something is not proven, from the least to the most that is known of it.
enum class Lack {
  absent,  // in no record of the family and stage
  red,     // in current records that are not green, at best
  stale    // in green records, but all were made from other sources than this program's
};

/// A feature, "a with b" for two that act on each other, or "op x".
struct Missing {
  std::string what;
  Lack lack = Lack::absent;
  std::string fields = {};  // "num_key_value_heads = 1": what of config.json it comes from
  bool operator==(const Missing&) const = default;
};

/// What records say of a claim: proven when each of its features, and each pair that acts on each other
/// together, is in a record of the family and stage that is green and current, on whatever device.
struct Coverage {
  std::string family, stage;
  bool any_record = false;  // of this family and stage
  std::vector<Missing> missing;

  bool proven() const { return missing.empty(); }
  /// One sentence without a full stop: what is missing and why; when proven that it is.
  std::string text() const;
};

Coverage cover(const Claim& claim, std::span<const Record> records);

/// {"proven": ..., "missing": [{"what", "lack", "fields"?}], "text"}
Json to_json(const Coverage& coverage);

}  // namespace lemnos::proof
