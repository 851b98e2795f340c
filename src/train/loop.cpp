#include "train/loop.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/log.h"
#include "io/file.h"
#include "io/tensor_codec.h"
#include "train/metrics.h"

namespace lemnos::train {
namespace {

double seconds_between(std::chrono::steady_clock::time_point from, std::chrono::steady_clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

std::string clock_text(double seconds) {
  const auto s = static_cast<int64_t>(std::llround(seconds));
  return s >= 3600 ? format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60) : format("{}:{:02}", s / 60, s % 60);
}

void refuse_damaged_weights(const Checkpoint& weights) {
  for (const std::string_view name : weights.names()) {
    if (!is_decodable_float(weights.view(name).dtype)) continue;
    const std::vector<float> values = decode_f32(weights.view(name));
    if (!std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); }))
      fail(ErrorKind::corrupt_input, "{}: {} holds a value that is not finite; the model's weights are damaged",
           weights.folder().string(), name);
  }
}

}  // namespace

Loop::Loop(const Prepared& prepared, Engine& engine, data::Sampler& sampler, OwnCheckpoints own, Json settings)
    : prepared_(prepared),
      engine_(engine),
      sampler_(sampler),
      schedule_(prepared.config.lr_schedule(prepared.total_steps)),
      adamw_{prepared.config.adam_beta1, prepared.config.adam_beta2, prepared.config.adam_epsilon,
             prepared.config.weight_decay},
      own_(std::move(own)),
      logging_steps_(std::max<int64_t>(1, steps_of(prepared.config.logging_steps, prepared.total_steps))),
      save_steps_(std::max<int64_t>(1, steps_of(prepared.config.save_steps, prepared.total_steps))) {
  state_.settings = std::move(settings);
  state_.max_steps = prepared.total_steps;
}

void Loop::resume(TrainerState state) {
  state_ = std::move(state);
  sampler_.restore(state_.cursor);
  last_saved_ = state_.global_step;
}

void Loop::train_window(const std::function<void(int64_t)>& begun) {
  const data::Window& window = sampler_.window();
  const double learning_rate = schedule_.at(state_.global_step);
  StepParams step;
  step.set_optimizer(adamw_, learning_rate, state_.global_step + 1, prepared_.config.max_grad_norm);
  step.set_loss_scale(window.supervised);
  step.set_seed(static_cast<uint64_t>(prepared_.config.seed));
  engine_.begin_window();
  int32_t micro = 0;
  for (const data::BatchPlan& plan : window.batches) {
    const data::Batch batch = data::make_batch(prepared_.dataset, plan, prepared_.sampling.rows_per_batch);
    step.set_micro(micro++);
    engine_.micro(batch, step);
    timed_tokens_ += batch.tokens;
  }
  engine_.update();
  const int64_t supervised = window.supervised;
  const Engine::WindowResult result = engine_.result();
  if (!std::isfinite(result.grad_norm) || !std::isfinite(result.loss_sum)) {
    if (!warm_ && prepared_.weights) refuse_damaged_weights(*prepared_.weights);
    fail(ErrorKind::usage,
         "step {}: the {} is not finite. Nothing was learned from this step; {}. "
         "Lower learning_rate, or look at the rows of this batch and at the model's weights",
         state_.global_step + 1, std::isfinite(result.loss_sum) ? "gradient" : "loss",
         last_saved_ > 0 ? format("checkpoint-{} is intact", last_saved_) : std::string("no checkpoint was written yet"));
  }
  if (!warm_) begun(state_.global_step);
  sampler_.advance();
  after_step(result, supervised, learning_rate);
}

void Loop::after_step(const Engine::WindowResult& result, int64_t supervised, double learning_rate) {
  ++state_.global_step;
  state_.epoch = sampler_.epochs_done();
  state_.logged_loss_sum += result.loss_sum / static_cast<double>(supervised);
  state_.logged_tokens += 1;
  last_loss_ = result.loss_sum / static_cast<double>(supervised);
  const bool last = state_.global_step == prepared_.total_steps;
  if (state_.global_step % logging_steps_ == 0 || last) log_metrics(result.grad_norm, learning_rate);
}

std::string Loop::time_left(std::chrono::steady_clock::time_point now) const {
  if (!warm_ || state_.global_step == warm_->step) return "";
  const double per_step = seconds_between(warm_->at, now) / static_cast<double>(state_.global_step - warm_->step);
  return "  ETA " + clock_text(per_step * static_cast<double>(prepared_.total_steps - state_.global_step));
}

void Loop::log_metrics(double grad_norm, double learning_rate) {
  const auto now = std::chrono::steady_clock::now();
  const double rate = static_cast<double>(timed_tokens_) / std::max(seconds_between(last_log_, now), 1e-9);
  Json row;
  row.set("step", state_.global_step);
  row.set("epoch", state_.epoch);
  row.set("loss", state_.logged_loss_sum / static_cast<double>(state_.logged_tokens));
  row.set("learning_rate", learning_rate);
  row.set("grad_norm", grad_norm);
  state_.history.push_back(row);
  row.set("tokens_per_second", rate);
  append_metrics(prepared_.config.output_dir, row);
  log_info("step {}/{}  loss {:.4f}  lr {:.3e}  grad_norm {:.3f}  {:.0f} tokens/s{}", state_.global_step,
           prepared_.total_steps, row.at("loss").as_number(), learning_rate, grad_norm, rate, time_left(now));
  state_.logged_loss_sum = 0;
  state_.logged_tokens = 0;
  timed_tokens_ = 0;
  last_log_ = now;
}

bool Loop::save_is_due() const {
  switch (prepared_.config.save_strategy) {
    case SaveStrategy::no: return false;
    case SaveStrategy::steps: return state_.global_step % save_steps_ == 0 || state_.global_step == prepared_.total_steps;
    case SaveStrategy::epoch:
      return state_.epoch == std::floor(state_.epoch) || state_.global_step == prepared_.total_steps;
  }
  return false;
}

void Loop::save() {
  state_.cursor = sampler_.cursor();
  save_checkpoint(prepared_.config.output_dir, engine_, prepared_.identity, state_);
  last_saved_ = state_.global_step;
  own_.add(state_.global_step);
  if (prepared_.config.save_total_limit) own_.rotate(*prepared_.config.save_total_limit);
}

TrainResult Loop::run(const std::function<bool()>& interrupted, const std::function<void(int64_t)>& begun) {
  last_log_ = std::chrono::steady_clock::now();
  TrainResult result;
  while (state_.global_step < prepared_.total_steps) {
    train_window(begun);
    if (!warm_) warm_ = Warm{state_.global_step, std::chrono::steady_clock::now()};
    result.interrupted = interrupted();
    if ((save_is_due() || result.interrupted) && last_saved_ != state_.global_step) save();
    if (result.interrupted) {
      log_info("stopped after step {}; continue with --resume-from-checkpoint auto", state_.global_step);
      break;
    }
  }
  result.steps = state_.global_step;
  result.last_loss = last_loss_;
  return result;
}

}  // namespace lemnos::train
