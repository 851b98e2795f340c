#include "peft/targets.h"

#include <pcre2.h>

#include <memory>
#include <set>

#include "base/error.h"

namespace lemnos {
namespace {

/// A pattern that must match a whole name (Python's re.fullmatch).
class FullMatch {
 public:
  explicit FullMatch(const std::string& pattern) {
    int code = 0;
    PCRE2_SIZE where = 0;
    code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                              PCRE2_UTF | PCRE2_UCP | PCRE2_ANCHORED | PCRE2_ENDANCHORED, &code, &where, nullptr));
    if (code_ != nullptr) return;
    PCRE2_UCHAR text[256];
    pcre2_get_error_message(code, text, sizeof text);
    fail(ErrorKind::usage, "target_modules \"{}\" is not a regular expression: {} at character {}", pattern,
         reinterpret_cast<const char*>(text), where);
  }

  bool operator()(const std::string& name) const {
    const std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> data(
        pcre2_match_data_create_from_pattern(code_.get(), nullptr), pcre2_match_data_free);
    return pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(name.data()), name.size(), 0, 0, data.get(),
                       nullptr) > 0;
  }

 private:
  std::unique_ptr<pcre2_code, decltype(&pcre2_code_free)> code_{nullptr, pcre2_code_free};
};

std::string leaf_of(const ModuleInfo& module) { return module.name.substr(module.name.rfind('.') + 1); }

bool is_head(const ModuleInfo& module) { return module.name == "lm_head"; }

bool has_suffix(const std::string& name, const std::string& suffix) {
  return name == suffix || name.ends_with("." + suffix);
}

std::string leaf_names(const std::vector<ModuleInfo>& modules) {
  std::set<std::string> leaves;
  for (const ModuleInfo& module : modules)
    if (module.type == "Linear" && !is_head(module)) leaves.insert(leaf_of(module));
  std::string text;
  for (const std::string& leaf : leaves) text += (text.empty() ? "" : ", ") + leaf;
  return text;
}

[[noreturn]] void nothing_matched(const std::string& what, const std::vector<ModuleInfo>& modules) {
  fail(ErrorKind::usage, "target_modules \"{}\" matches no module; the Linear modules are named {} (see `lemnos inspect --modules`)",
       what, leaf_names(modules));
}

std::vector<ModuleInfo> all_linear(const std::vector<ModuleInfo>& modules) {
  std::vector<ModuleInfo> found;
  for (const ModuleInfo& module : modules) {
    if (module.type == "Experts")
      fail(ErrorKind::unsupported,
           "target_modules all-linear on a mixture of experts also adapts {} in PEFT, which is not there yet; "
           "name the modules instead, e.g. q_proj,k_proj,v_proj,o_proj", module.name);
    if (module.type == "Linear" && !is_head(module)) found.push_back(module);
  }
  return found;
}

void refuse_other_kinds(const std::vector<ModuleInfo>& found) {
  for (const ModuleInfo& module : found)
    if (module.type != "Linear" || is_head(module))
      fail(ErrorKind::unsupported, "target_modules matches {} ({}); LoRA is there for Linear modules other than the output head",
           module.name, module.type);
}

}  // namespace

std::vector<ModuleInfo> resolve_targets(const TargetModules& targets, const std::vector<ModuleInfo>& modules) {
  std::vector<ModuleInfo> found;
  if (const auto* text = std::get_if<std::string>(&targets.spec)) {
    if (*text == "all-linear") return all_linear(modules);
    const FullMatch matches(*text);
    for (const ModuleInfo& module : modules)
      if (matches(module.name)) found.push_back(module);
    if (found.empty()) nothing_matched(*text, modules);
  } else {
    const auto& names = std::get<std::vector<std::string>>(targets.spec);
    std::set<std::string> used;
    for (const ModuleInfo& module : modules)
      for (const std::string& name : names)
        if (has_suffix(module.name, name)) {
          if (found.empty() || found.back().name != module.name) found.push_back(module);
          used.insert(name);
        }
    for (const std::string& name : names)
      if (!used.contains(name)) nothing_matched(name, modules);
    if (names.empty()) fail(ErrorKind::usage, "target_modules is empty");
  }
  refuse_other_kinds(found);
  return found;
}

TargetModules expanded(const TargetModules& targets, const std::vector<ModuleInfo>& matched) {
  const auto* text = std::get_if<std::string>(&targets.spec);
  if (text == nullptr || *text != "all-linear") return targets;
  std::set<std::string> leaves;
  for (const ModuleInfo& module : matched) leaves.insert(leaf_of(module));
  return {std::vector<std::string>(leaves.begin(), leaves.end())};
}

}  // namespace lemnos
