#include <unistd.h>

#include <csignal>
#include <ctime>
#include <string_view>

#include "cli/command.h"
#include "cli/train_arguments.h"
#include "train/session.h"
#include "train/train_config_options.h"

namespace lemnos::cli {
namespace {

constexpr int kInterrupted = 130;
volatile std::sig_atomic_t interrupted = 0;
volatile std::time_t interrupted_at = 0;

/// The first asks to stop; one that comes later stops at once, as checkpoints are whole or not there.
/// What comes with the first is the same wish, sent on by a parent process.
void note_interrupt(int signal) {
  constexpr std::string_view kNote = "stopping: the step is finished and a checkpoint written; once more to stop at once\n";
  constexpr std::time_t kTogether = 1;  // seconds
  const std::time_t now = std::time(nullptr);
  if (interrupted != 0) {
    if (now <= interrupted_at + kTogether) return;
    std::signal(signal, SIG_DFL);
    std::raise(signal);
    return;
  }
  interrupted_at = now;
  interrupted = 1;
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kNote.data(), kNote.size());
}

int run_train(const Arguments& arguments) {
  std::signal(SIGINT, note_interrupt);
  std::signal(SIGTERM, note_interrupt);
  std::signal(SIGHUP, note_interrupt);  // the terminal was closed
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
