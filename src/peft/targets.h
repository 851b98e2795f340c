#pragma once

#include <string>
#include <variant>
#include <vector>

#include "models/model_builder.h"

namespace lemnos {

/// Which Linear modules get LoRA, as PEFT's `target_modules` says it:
/// - the string "all-linear": every Linear but the output head;
/// - another string: a regular expression that must match the whole module name;
/// - a list: names or suffixes after a dot ("q_proj", "self_attn.q_proj").
struct TargetModules {
  std::variant<std::string, std::vector<std::string>> spec = std::string("all-linear");
};

/// The modules matched, in model order. Error{usage} when the spec, or one entry of the list, matches
/// nothing (the message lists what there is); Error{unsupported} when it matches a module that is no
/// plain Linear or the output head.
std::vector<ModuleInfo> resolve_targets(const TargetModules& targets,
                                        const std::vector<ModuleInfo>& modules);

/// "all-linear" as PEFT saves it: the last names of the modules it matched, sorted. Others as they are.
TargetModules expanded(const TargetModules& targets, const std::vector<ModuleInfo>& matched);

}  // namespace lemnos
