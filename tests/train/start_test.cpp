// How a run starts: which checkpoint, what a plan says of it, and what a start that fails leaves.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "train/session_outcome.h"

namespace lemnos::train {
namespace {

TEST(Start, ADamagedCheckpointNamesTheOneBefore) {
  const ToyFolder toy;
  TrainConfig config = toy.config("run");
  config.max_steps = 2;
  config.save_steps = 1;
  run(config);
  std::string content = bytes(toy / "run/checkpoint-2/optimizer.safetensors");
  content.back() ^= 1;
  write_file_atomic(toy / "run/checkpoint-2/optimizer.safetensors", content);
  config.resume_from_checkpoint = "auto";
  expect_error(ErrorKind::corrupt_input, {"optimizer.safetensors", "continue from the newest one before it", "checkpoint-1"}, config);
}

std::string log_of(const std::function<void()>& action) {
  testing::internal::CaptureStderr();
  action();
  return testing::internal::GetCapturedStderr();
}

TEST(Start, AnIncompleteCheckpointNamesTheFileAndTheNewestCompleteOne) {
  const ToyFolder toy;
  TrainConfig config = toy.config("run");
  config.max_steps = 3;
  config.save_steps = 1;
  run(config);
  const auto from = [&](const char* name) {
    TrainConfig c = config;
    c.resume_from_checkpoint = (toy / "run" / name).string();
    return c;
  };
  const fs::path optimizer = toy / "run/checkpoint-3/optimizer.safetensors";
  const auto size = fs::file_size(optimizer);
  fs::resize_file(optimizer, 100);
  const std::string log = log_of([&] {
    expect_error(ErrorKind::corrupt_input, {"cannot resume from", "optimizer.safetensors: 100 bytes, saved with " + std::to_string(size),
                                            "the newest one before it: --resume-from-checkpoint", "checkpoint-2"}, from("checkpoint-3"));
  });
  EXPECT_EQ(log.find("passed over"), std::string::npos) << log;
  fs::remove(toy / "run/checkpoint-1/trainer_state.json");
  write_file_atomic(toy / "run/checkpoint-1/trainer_state.json", "{}");
  fs::remove(toy / "run/checkpoint-1/model.safetensors");
  expect_error(ErrorKind::corrupt_input, {"checkpoint-1/model.safetensors: was saved with this folder and is missing",
                                          "the newest complete one: --resume-from-checkpoint", "checkpoint-2"}, from("checkpoint-1/"));
  fs::remove(toy / "run/checkpoint-1/.complete");
  expect_error(ErrorKind::usage, {"checkpoint-1 is no complete checkpoint"}, from("checkpoint-1"));

  // `auto` passes it over, once.
  fs::remove_all(toy / "run/checkpoint-1");
  const std::string passed = log_of([&] { run(from("checkpoint-2")); });
  EXPECT_EQ(passed.find("passed over"), std::string::npos) << "a folder was named: " << passed;
  fs::resize_file(optimizer, 100);
  config.resume_from_checkpoint = "auto";
  const std::string noted = log_of([&] { run(config); });
  EXPECT_NE(noted.find("checkpoint-3 is not complete and is passed over"), std::string::npos) << noted;
  EXPECT_EQ(noted.find("passed over"), noted.rfind("passed over")) << noted;
}

TEST(Start, AStartThatFailsBeforeItsFirstStepLeavesNothing) {
  ToyFolder toy;
  TrainConfig config = toy.config("run");
  config.max_steps = 1;
  config.save_steps = 1;
  run(config);
  const std::string applied = bytes(toy / "run/applied.json"), metrics = bytes(toy / "run/metrics.jsonl");
  EXPECT_FALSE(metrics.empty());

  toy.poison("model.layers.1.mlp.up_proj.weight", std::nanf(""));  // the first step finds it
  config.output_dir = (toy / "a/b/c").string();
  expect_error(ErrorKind::corrupt_input, {"not finite"}, config);
  EXPECT_FALSE(fs::exists(toy / "a"));
  fs::create_directories(toy / "mine/notes");
  config.output_dir = (toy / "mine").string();
  expect_error(ErrorKind::corrupt_input, {"not finite"}, config);
  EXPECT_TRUE(fs::exists(toy / "mine/notes"));
  EXPECT_FALSE(fs::exists(toy / "mine/applied.json"));
  EXPECT_FALSE(fs::exists(toy / "mine/metrics.jsonl"));
  config.output_dir = (toy / "empty").string();
  fs::create_directories(toy / "empty");
  expect_error(ErrorKind::corrupt_input, {"not finite"}, config);
  EXPECT_TRUE(fs::exists(toy / "empty")) << "it was there before";

  // One that is refused leaves an earlier run as it was.
  config.output_dir = (toy / "run").string();
  config.max_steps = 2;
  config.resume_from_checkpoint = "auto";
  EXPECT_THROW(run(config), Error);
  EXPECT_EQ(bytes(toy / "run/applied.json"), applied);
  EXPECT_EQ(bytes(toy / "run/metrics.jsonl"), metrics);
}

TEST(Start, APlanSaysWhatTheRunWouldRefuse) {
  const ToyFolder toy;
  TrainConfig config = toy.config("run");
  config.max_steps = 2;
  config.save_steps = 1;
  const DeviceProfile cpu{.cpu_path = true, .is_cpu = true, .max_allocation_bytes = 1 << 30};
  const auto refusals = [&](const TrainConfig& c) {
    std::string text;
    for (const std::string& refusal : plan_training(c, cpu).refusals) text += refusal + "\n";
    return text;
  };
  EXPECT_EQ(refusals(config), "");
  EXPECT_FALSE(fs::exists(toy / "run"));
  run(config);
  EXPECT_NE(refusals(config).find("holds checkpoints of an earlier run"), std::string::npos);
  config.resume_from_checkpoint = "auto";
  EXPECT_EQ(refusals(config), "");
  config.learning_rate = 0.5;
  EXPECT_NE(refusals(config).find("learning_rate"), std::string::npos);
  config.resume_from_checkpoint = (toy / "run/checkpoint-2").string();
  fs::resize_file(toy / "run/checkpoint-2/optimizer.safetensors", 100);
  EXPECT_NE(refusals(config).find("optimizer.safetensors: 100 bytes"), std::string::npos);
  config.resume_from_checkpoint = (toy / "nowhere").string();
  EXPECT_NE(refusals(config).find("no such folder"), std::string::npos);
}

}  // namespace
}  // namespace lemnos::train
