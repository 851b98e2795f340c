#include <csignal>

#include "cli/command.h"
#include "cli/train_arguments.h"
#include "train/session.h"
#include "train/train_config_options.h"

namespace lemnos::cli {
namespace {

constexpr int kInterrupted = 130;
volatile std::sig_atomic_t interrupted = 0;

void note_interrupt(int) { interrupted = 1; }

int run_train(const Arguments& arguments) {
  std::signal(SIGINT, note_interrupt);
  std::signal(SIGTERM, note_interrupt);
  const train::TrainConfig config = train_config_of(arguments);
  const std::string output = config.output_dir;
  const train::TrainResult result = train::run_training(config, [] { return interrupted != 0; });
  if (arguments.json()) {
    Json out;
    out.set("steps", result.steps);
    out.set("loss", result.last_loss);
    out.set("interrupted", result.interrupted);
    out.set("output_dir", output);
    print_json(out);
  }
  return result.interrupted ? kInterrupted : 0;
}

}  // namespace

extern const Command kCommand_train;
const Command kCommand_train{.name = "train",
                             .summary = "Full training or LoRA fine-tuning",
                             .options = train_options(),
                             .run = run_train,
                             .any_option = true,
                             .more_help = train::options_help};

}  // namespace lemnos::cli
