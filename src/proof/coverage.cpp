#include "proof/coverage.h"

#include <algorithm>
#include <functional>

#include "base/format.h"

namespace lemnos::proof {
namespace {

bool holds(const std::vector<std::string>& sorted, const std::string& name) {
  return std::binary_search(sorted.begin(), sorted.end(), name);
}

const char* name_of(Lack lack) {
  switch (lack) {
    case Lack::absent: return "absent";
    case Lack::red: return "red";
    case Lack::stale: break;
  }
  return "stale";
}

std::string stage_text(const std::string& stage) {
  if (stage == "base") return "full training";
  return stage == "lora" ? "LoRA training" : stage;
}

class Judge {
 public:
  Judge(const Claim& claim, std::span<const Record> records) {
    coverage_.family = claim.program.family;
    coverage_.stage = claim.program.stage;
    for (const Record& record : records)
      if (record.family == coverage_.family && record.stage == coverage_.stage) records_.push_back(&record);
    coverage_.any_record = !records_.empty();
    for (const std::string& feature : claim.features) {
      const auto fields = claim.fields.find(feature);
      want(feature, [&](const Record& record) { return holds(record.features, feature); },
           fields == claim.fields.end() ? std::string() : fields->second);
    }
    for (const auto& [a, b] : claim.together)
      want(format("{} with {}", a, b), [&](const Record& record) { return holds(record.features, a) && holds(record.features, b); });
    for (const std::string& op : claim.program.ops)
      want("op " + op, [&](const Record& record) { return holds(record.ops, op); });
  }
  Coverage take() { return std::move(coverage_); }

 private:
  void want(const std::string& what, const std::function<bool(const Record&)>& is_in, const std::string& fields = {}) {
    Lack best = Lack::absent;
    for (const Record* record : records_) {
      if (!is_in(*record)) continue;
      if (record->green && record->current) return;
      best = std::max(best, record->green ? Lack::stale : Lack::red);
    }
    coverage_.missing.push_back({what, best, fields});
  }

  Coverage coverage_;
  std::vector<const Record*> records_;
};

bool is_op(const Missing& missing) { return missing.what.starts_with("op "); }

/// "a, b" of what lacks so; empty when nothing does. Ops follow from features and are named where those
/// say nothing.
std::string list_of(const Coverage& coverage, Lack lack) {
  const bool ops_alone = std::ranges::all_of(coverage.missing, is_op);
  std::string text;
  for (const Missing& missing : coverage.missing)
    if (missing.lack == lack && (ops_alone || !is_op(missing)))
      text += format("{}{}{}", text.empty() ? "" : ", ", missing.what, missing.fields.empty() ? "" : " (" + missing.fields + ")");
  return text;
}

}  // namespace

std::string Coverage::text() const {
  const std::string subject = format("{} of {}", stage_text(stage), family);
  if (proven()) return format("{} is proven against Transformers with this config's features", subject);
  if (!any_record) return format("{} has no record of its equality with Transformers", subject);
  if (std::ranges::all_of(missing, [](const Missing& m) { return m.lack == Lack::stale; }))
    return format("the records of {} were made from other sources than this program's", subject);
  std::string why;
  const auto add = [&](Lack lack, const char* how) {
    if (const std::string list = list_of(*this, lack); !list.empty()) why += format("{}{}: {}", why.empty() ? "" : "; ", how, list);
  };
  add(Lack::absent, "in no record");
  add(Lack::red, "outside the gates");
  add(Lack::stale, "in records made from other sources");
  return format("{} is not proven against Transformers for this config; {}", subject, why);
}

Coverage cover(const Claim& claim, std::span<const Record> records) { return Judge(claim, records).take(); }

Json to_json(const Coverage& coverage) {
  Json out, missing = Json::array();
  for (const Missing& lacking : coverage.missing) {
    Json row;
    row.set("what", lacking.what);
    row.set("lack", name_of(lacking.lack));
    if (!lacking.fields.empty()) row.set("fields", lacking.fields);
    missing.push_back(std::move(row));
  }
  out.set("proven", coverage.proven());
  out.set("missing", std::move(missing));
  out.set("text", coverage.text());
  return out;
}

}  // namespace lemnos::proof
