// Commands whose names are settled and that other issues bring.
#include "base/error.h"
#include "cli/command.h"

namespace lemnos::cli {
namespace {

int run_later(const Arguments&) {
  fail(ErrorKind::unsupported, "this command is not there yet");
}

Command later(const char* name, const char* summary) {
  return {.name = name, .summary = summary, .options = {}, .run = run_later, .any_option = true};
}

}  // namespace

extern const Command kCommand_eval, kCommand_data, kCommand_merge, kCommand_unmerge, kCommand_architectures, kCommand_doctor;
const Command kCommand_eval = later("eval", "(not there yet) Token loss, perplexity, exact match");
const Command kCommand_data = later("data", "(not there yet) Rows as the device gets them");
const Command kCommand_merge = later("merge", "(not there yet) Merge an adapter into its base");
const Command kCommand_unmerge = later("unmerge", "(not there yet) Restore the base");
const Command kCommand_architectures = later("architectures", "(not there yet) Families and their proof");
const Command kCommand_doctor = later("doctor", "(not there yet) Every kernel on this driver");

}  // namespace lemnos::cli
