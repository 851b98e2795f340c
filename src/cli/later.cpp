// Commands whose names are settled and that other issues bring.
#include "cli/command.h"

namespace lemnos::cli {
namespace {

Command later(const char* name, const char* summary) {
  return {.name = name, .summary = summary, .options = {}, .any_option = true, .later = true};
}

}  // namespace

extern const Command kCommand_eval, kCommand_data, kCommand_merge, kCommand_unmerge;
const Command kCommand_eval = later("eval", "Token loss, perplexity, exact match");
const Command kCommand_data = later("data", "Rows as the device gets them");
const Command kCommand_merge = later("merge", "Merge an adapter into its base");
const Command kCommand_unmerge = later("unmerge", "Restore the base");

}  // namespace lemnos::cli
