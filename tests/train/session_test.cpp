// Whole runs of a toy model: what stops and goes on must end in the same bits as what never stopped.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "train/session_outcome.h"
#include "train/run_folder.h"
#include "train/training_checkpoint.h"

namespace lemnos::train {
namespace {

void expect_same_checkpoint(const fs::path& a, const fs::path& b, const char* weights) {
  for (const char* file : {weights, "optimizer.safetensors", "trainer_state.json"})
    EXPECT_EQ(bytes(a / file) == bytes(b / file), true) << file << " of " << b;
}

/// Stops inside an epoch (step 2 of 3) and at its end (step 3), resumes twice, compares.
void stop_twice_and_compare(const ToyFolder& toy, const TrainConfig& whole, const char* weights) {
  run(whole);
  TrainConfig parts = whole;
  parts.output_dir = (toy / "parts").string();
  EXPECT_TRUE(run(parts, 2).interrupted);
  EXPECT_FALSE(fs::exists(fs::path(parts.output_dir) / weights)) << "an unfinished run has no result";
  EXPECT_TRUE(run(resuming(parts), 1).interrupted);
  const TrainResult result = run(resuming(parts));
  EXPECT_EQ(result.steps, 6);
  EXPECT_TRUE(bytes(toy / "whole" / weights) == bytes(toy / "parts" / weights));
  expect_same_checkpoint(toy / "whole/checkpoint-6", toy / "parts/checkpoint-6", weights);
}

TEST(Session, FullTrainingResumesBitForBitAndSparesWhatIsBroken) {
  ToyFolder toy;
  TrainConfig whole = toy.config("whole");
  stop_twice_and_compare(toy, whole, "model.safetensors");

  // A checkpoint that lost its end is passed over; the one before leads to the same result.
  TrainConfig torn = whole;
  torn.output_dir = (toy / "torn").string();
  run(torn, 4);
  fs::resize_file(toy / "torn/checkpoint-4/optimizer.safetensors", 100);
  EXPECT_EQ(newest_checkpoint(torn.output_dir), toy / "torn/checkpoint-3");
  run(resuming(torn));
  EXPECT_TRUE(bytes(toy / "whole/model.safetensors") == bytes(toy / "torn/model.safetensors"));

  // One that holds other bytes than were written is an error.
  std::string damaged = bytes(toy / "torn/checkpoint-5/optimizer.safetensors");
  damaged.back() = static_cast<char>(damaged.back() ^ 1);
  write_file_atomic(toy / "torn/checkpoint-5/optimizer.safetensors", damaged);
  expect_error(ErrorKind::corrupt_input, {"optimizer.safetensors"},
               resuming(torn, (toy / "torn/checkpoint-5").string()));

  // A folder that holds a run is not written over.
  expect_error(ErrorKind::usage, {"earlier run"}, whole);
  TrainConfig changed = resuming(whole, (toy / "whole/checkpoint-3").string());
  changed.learning_rate = 2e-2;
  changed.weight_decay = 0.1;
  expect_error(ErrorKind::usage, {"learning_rate", "weight_decay"}, changed);
  write_file_atomic(toy.rows(), toy_rows() + "{\"input_ids\": [4, 5, 6]}\n");
  expect_error(ErrorKind::usage, {"data"}, resuming(whole, (toy / "whole/checkpoint-3").string()));
}

TEST(Session, LoraWithDropoutResumesBitForBit) {
  const ToyFolder toy;
  const std::string base = bytes(toy.base() / "model.safetensors");
  stop_twice_and_compare(toy, toy.lora("whole"), "adapter_model.safetensors");
  EXPECT_TRUE(base == bytes(toy.base() / "model.safetensors"));
  EXPECT_FALSE(fs::exists(toy / "whole/model.safetensors"));
  EXPECT_FALSE(fs::exists(toy / "whole/config.json"));
  const Checkpoint adapter = Checkpoint::open_adapter(toy / "whole");
  EXPECT_EQ(adapter.names().size(), 8u);  // A and B of q_proj and v_proj in two layers
  for (const std::string_view name : adapter.names()) {
    bool moved = false;
    for (const float x : floats_of(toy / "whole", std::string(name), "adapter_model")) moved = moved || x != 0;
    EXPECT_TRUE(moved) << name;
  }
  EXPECT_EQ(read_adapter_config(toy / "whole/adapter_config.json").lora.r, 4);
}

TEST(Session, ResumesWithActivationsMadeAgain) {
  const ToyFolder toy;
  const TrainConfig whole = toy.lora("whole");
  run(whole);
  TrainConfig parts = whole;
  parts.output_dir = (toy / "parts").string();
  parts.gradient_checkpointing = true;
  EXPECT_TRUE(run(parts, 2).interrupted);
  EXPECT_EQ(Json::parse(bytes(toy / "parts/applied.json"), "applied").at("recompute").at("layers").as_integer(), 2);
  parts.gradient_checkpointing = false;
  EXPECT_TRUE(run(resuming(parts), 2).interrupted);
  parts.gradient_checkpointing.reset();
  run(resuming(parts));
  EXPECT_EQ(Json::parse(bytes(toy / "parts/applied.json"), "applied").at("recompute").at("layers").as_integer(), 0);
  expect_same_checkpoint(toy / "whole/checkpoint-6", toy / "parts/checkpoint-6", "adapter_model.safetensors");
}

std::vector<std::string> checkpoints_of(const fs::path& run_folder) {
  std::vector<std::string> names;
  for (const auto& [step, folder] : complete_checkpoints(run_folder)) names.push_back(folder.filename());
  return names;
}
using Names = std::vector<std::string>;

TEST(Session, RotationKeepsTheNewestAndWhatAnotherRunLeft) {
  const ToyFolder toy;
  run(toy.config("first"), 2);
  TrainConfig other = toy.config("other");
  other.seed = 7;
  other.data_seed = 3;
  run(other, 1);

  // Begun elsewhere: nothing that lies in the folder is this run's.
  fs::create_directories(toy / "second");
  fs::copy(toy / "other/checkpoint-1", toy / "second/checkpoint-1", fs::copy_options::recursive);
  fs::copy(toy / "first/checkpoint-1", toy / "second/checkpoint-1000", fs::copy_options::recursive);
  TrainConfig config = resuming(toy.config("second"), (toy / "first/checkpoint-2").string());
  config.save_total_limit = 1;
  run(config, 2);
  EXPECT_EQ(checkpoints_of(toy / "second"), (Names{"checkpoint-1", "checkpoint-4", "checkpoint-1000"}));

  // Gone on in its own folder: what this run wrote before goes, the other's stays.
  config = resuming(config, (toy / "second/checkpoint-4").string() + "/");
  EXPECT_EQ(run(config).steps, 6);
  EXPECT_EQ(checkpoints_of(toy / "second"), (Names{"checkpoint-1", "checkpoint-6", "checkpoint-1000"}));
}

TEST(Session, AnotherRunsCheckpointIsNotReplaced) {
  const ToyFolder toy;
  run(toy.config("first"), 1);
  TrainConfig other = toy.config("second");
  other.seed = 7;
  run(other, 3);
  expect_error(ErrorKind::usage, {"checkpoint-2", "another run"},
               resuming(toy.config("second"), (toy / "first/checkpoint-1").string()));
  // A run that goes back in its own folder writes the same again.
  TrainConfig back = resuming(other, (toy / "second/checkpoint-1").string());
  EXPECT_EQ(run(back).steps, 6);

  fs::create_directories(toy / "foreign/checkpoint-500");
  write_file_atomic(toy / "foreign/checkpoint-500/trainer_state.json", "{}");
  expect_error(ErrorKind::usage, {"checkpoint-500", "is no complete checkpoint of this program"}, toy.config("foreign"));
}

TEST(Session, WrongFoldersAreFoundBeforeAnyWork) {
  const ToyFolder toy;
  // The data would be an error too: it is read later.
  write_file_atomic(toy.rows(), "no JSON");
  const auto config = [&](const std::string& output, const std::optional<std::string>& from) {
    TrainConfig c = toy.config(output);
    c.resume_from_checkpoint = from;
    return c;
  };
  write_file_atomic(toy / "file", "");
  expect_error(ErrorKind::io, {"output_dir", "file is a file"}, config("file", std::nullopt));
  expect_error(ErrorKind::io, {"output_dir", "file is a file"}, config("file/below/it", std::nullopt));
  expect_error(ErrorKind::io, {"cannot write into /proc"}, [&] { TrainConfig c = config("x", std::nullopt); c.output_dir = "/proc/run"; return c; }());
  expect_error(ErrorKind::io, {"resume_from_checkpoint", "nowhere"}, config("run", (toy / "nowhere").string()));
  expect_error(ErrorKind::io, {"resume_from_checkpoint", "a whole model"}, config("run", toy.base().string()));
  expect_error(ErrorKind::io, {"rows.jsonl is a file"}, config("run", toy.rows().string()));
  fs::create_directories(toy / "earlier/checkpoint-3");
  write_file_atomic(toy / "earlier/checkpoint-3/trainer_state.json", "{}");
  expect_error(ErrorKind::io, {"there is one in", "checkpoint-3"}, config("run", (toy / "earlier").string()));
  EXPECT_FALSE(fs::exists(toy / "run"));
  EXPECT_FALSE(fs::exists(toy / "file/below"));

  write_file_atomic(toy.rows(), toy_rows());
  expect_error(ErrorKind::corrupt_input, {"cannot resume from", "checkpoint-3/.complete is missing"},
               config("run", (toy / "earlier/checkpoint-3").string()));
  EXPECT_FALSE(fs::exists(toy / "run")) << "no device was opened, nothing was written";
}

TEST(Session, ExportLoadsAgainTiedAndWithPaddedVocabulary) {
  const ToyFolder toy(toy_model_json(/*tied=*/true));
  TrainConfig config = toy.config("run");
  config.max_steps = 2;
  config.save_strategy = SaveStrategy::no;
  run(config);
  const Checkpoint exported = Checkpoint::open(toy / "run");
  EXPECT_FALSE(exported.contains("lm_head.weight"));
  EXPECT_EQ(exported.names().size(), 2u + 2u * 9u);
  EXPECT_EQ(exported.view("model.embed_tokens.weight").shape, (std::vector<int64_t>{40, 16}));
  const Json kept = Json::parse(bytes(toy / "run/config.json"), "config.json");
  const Json written = toy_model_json(true);
  for (const auto& [key, value] : written.as_object()) EXPECT_EQ(kept.at(key), value) << key;

  TrainConfig again = toy.config("again");
  again.model_name_or_path = (toy / "run").string();
  again.max_steps = 1;
  EXPECT_EQ(run(again).steps, 1);

  write_file_atomic(toy.rows(), toy_rows() + "{\"input_ids\": [3, 40]}\n");
  expect_error(ErrorKind::corrupt_input, {"rows.jsonl", "11", "40"}, toy.config("outside"));
}

TEST(Session, RowsThatNoTokenUsesKeepTheirBits) {
  const ToyFolder toy;
  TrainConfig config = toy.config("run");
  config.max_steps = 2;
  run(config);
  const auto before = floats_of(toy.base(), "model.embed_tokens.weight");
  const auto after = floats_of(toy / "run", "model.embed_tokens.weight");
  EXPECT_TRUE(std::equal(before.begin() + 33 * 16, before.end(), after.begin() + 33 * 16));
  EXPECT_FALSE(before == after);
}

TEST(Session, WeightsThatAreNoNumbersEndTheRunWithoutAResult) {
  ToyFolder toy;
  toy.poison("model.layers.1.mlp.up_proj.weight", std::nanf(""));
  TrainConfig unclipped = toy.config("unclipped");
  unclipped.max_grad_norm = 0;
  for (const TrainConfig& config : {toy.config("full"), toy.lora("lora"), unclipped}) {
    expect_error(ErrorKind::corrupt_input, {"model.layers.1.mlp.up_proj.weight", "not finite", "damaged"}, config);
    for (const char* name : {"model.safetensors", "adapter_model.safetensors", "checkpoint-1"})
      EXPECT_FALSE(fs::exists(fs::path(config.output_dir) / name)) << name;
  }
}

TEST(Session, AStepThatLeavesNoNumbersSavesNothing) {
  const ToyFolder toy;
  TrainConfig config = toy.config("run");
  config.learning_rate = 1e38;
  config.max_steps = 1;
  for (const SaveStrategy strategy : {SaveStrategy::steps, SaveStrategy::no}) {
    config.save_strategy = strategy;
    expect_error(ErrorKind::usage, {"not finite after this step", "nothing is saved"}, config);
    for (const char* name : {"model.safetensors", ".final.partial", "checkpoint-1"})
      EXPECT_FALSE(fs::exists(toy / "run" / name)) << name;
  }
}

TEST(Session, AModelThatIsThereIsNotReplaced) {
  const ToyFolder toy;
  TrainConfig config = toy.config("run");
  config.max_steps = 1;
  config.save_strategy = SaveStrategy::no;
  run(config);
  const std::string before = bytes(toy / "run/model.safetensors");
  expect_error(ErrorKind::usage, {"holds a model or adapter already", "model.safetensors"}, config);
  TrainConfig lora = toy.lora("run");
  lora.resume_from_checkpoint = "auto";
  expect_error(ErrorKind::usage, {"holds a model or adapter already"}, lora);
  EXPECT_TRUE(bytes(toy / "run/model.safetensors") == before);
}

TEST(Session, WhatIsNotProvenIsRefusedBeforeAnythingIsWritten) {
  const ToyFolder toy;
  const auto train = [](TrainConfig config) { return run_training(std::move(config), [] { return false; }, /*records=*/{}); };
  for (TrainConfig config : {toy.config("run"), toy.lora("run")}) {
    config.device = "no such device";
    config.use_cpu = false;
    try {
      train(config);
      ADD_FAILURE() << "not refused";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::unsupported) << error.what();
      EXPECT_NE(std::string(error.what()).find("--allow-unqualified"), std::string::npos) << error.what();
    }
    EXPECT_FALSE(fs::exists(toy / "run"));
  }
  TrainConfig allowed = toy.config("run");
  allowed.allow_unqualified = true;
  allowed.max_steps = 1;
  EXPECT_EQ(train(allowed).steps, 1);
  const Json applied = Json::parse(bytes(toy / "run/applied.json"), "applied.json");
  EXPECT_TRUE(applied.at("options").at("allow_unqualified").at("value").as_bool());
  EXPECT_FALSE(applied.at("proof").at("proven").as_bool());
}

TEST(Session, OneRunAFolder) {
  const ToyFolder toy;
  fs::create_directories(toy / "run");
  const auto held = std::make_unique<RunLock>(toy / "run");
  expect_error(ErrorKind::usage, {"another run is writing into output_dir"}, toy.config("run"));
}

TEST(Session, ResumesByWhatTheModelHoldsNotByItsPath) {
  const ToyFolder toy;
  TrainConfig config = toy.lora("run");
  config.max_steps = 2;
  config.save_steps = 1;
  run(config);
  fs::remove_all(toy / "run/checkpoint-2");
  fs::copy(toy.base(), toy / "moved");
  config.model_name_or_path = (toy / "moved").string();
  config.resume_from_checkpoint = "auto";
  EXPECT_EQ(run(config).steps, 2);

  fs::remove_all(toy / "run/checkpoint-2");
  const ToyFolder other(toy_model_json(), FileDType::BF16);
  config.model_name_or_path = other.base().string();
  expect_error(ErrorKind::usage, {"base weights"}, config);
}

TEST(Session, MicroBatchesWeighTheirTokensAlike) {
  const ToyFolder toy;
  write_file_atomic(toy.rows(), "{\"input_ids\": [1, 5, 9]}\n{\"input_ids\": [1, 4, 8, 12, 16, 20, 24, 28, 32]}\n");
  TrainConfig together = toy.config("together");
  together.max_steps = 1;
  together.train_sampling_strategy = SamplingStrategy::sequential;
  together.gradient_accumulation_steps = 1;
  together.adam_epsilon = 1;  // the step is then the gradient, and no sign of it
  together.learning_rate = 1;
  TrainConfig apart = together;
  apart.output_dir = (toy / "apart").string();
  apart.per_device_train_batch_size = 1;
  apart.gradient_accumulation_steps = 2;
  const double loss = run(together).last_loss;
  EXPECT_NEAR(run(apart).last_loss, loss, 1e-6);
  for (const char* name : {"lm_head.weight", "model.embed_tokens.weight", "model.layers.0.self_attn.q_proj.weight"}) {
    const auto before = floats_of(toy.base(), name), a = floats_of(toy / "together", name), b = floats_of(toy / "apart", name);
    double difference = 0, moved = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      difference = std::max(difference, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
      moved = std::max(moved, std::abs(static_cast<double>(a[i]) - static_cast<double>(before[i])));
    }
    EXPECT_LT(difference, 1e-6) << name;
    EXPECT_GT(moved, 1e-3) << name;
  }
}

TEST(Session, BaseInBfloat16TrainsAsTheSameBaseInFloat32) {
  const ToyFolder narrow(toy_model_json(), FileDType::BF16), wide;
  for (const ToyFolder* toy : {&narrow, &wide}) {
    TrainConfig config = toy->lora("run");
    config.max_steps = 3;
    config.save_strategy = SaveStrategy::no;
    run(config);
  }
  EXPECT_LT(fs::file_size(narrow.base() / "model.safetensors"), fs::file_size(wide.base() / "model.safetensors"));
  EXPECT_TRUE(bytes(narrow / "run/adapter_model.safetensors") == bytes(wide / "run/adapter_model.safetensors"));
}

TEST(Session, AllLinearIsSavedAsAList) {
  const ToyFolder toy;
  TrainConfig config = toy.lora("run");
  config.lora_target_modules = TargetModules{TargetModules::Kind::all_linear, {}, ""};
  config.max_steps = 1;
  config.save_strategy = SaveStrategy::no;
  run(config);
  const Json saved = Json::parse(bytes(toy / "run/adapter_config.json"), "adapter_config.json");
  EXPECT_EQ(saved.at("target_modules").dump(), R"(["down_proj","gate_proj","k_proj","o_proj","q_proj","up_proj","v_proj"])");
}

TEST(Session, AModelBesideAConfigGivesTheTokenizerOnly) {
  const ToyFolder toy;
  TrainConfig config = toy.config("run");
  config.init_from_config = toy.base().string();  // a folder stands for its config.json
  TrainConfig over = config;
  over.model_name_or_path.reset();
  over.output_dir = toy.base().string();
  expect_error(ErrorKind::usage, {"the model's own folder"}, over);
  expect_error(ErrorKind::io, {"tokenizer.json"}, config);
  config.model_name_or_path.reset();
  config.max_steps = 1;
  config.learning_rate = 0;
  run(config);
  EXPECT_NE(floats_of(toy / "run", "lm_head.weight"), floats_of(toy.base(), "lm_head.weight"));
}

TEST(Session, WeightsThatDoNotFitAreFoundBeforeTheData) {
  const ToyFolder toy;
  write_file_atomic(toy.rows(), "no JSON");
  Json config = toy_model_json();
  config.set("num_hidden_layers", 1);
  write_file_atomic(toy.base() / "config.json", config.dump());
  expect_error(ErrorKind::corrupt_input, {"Left over", "model.layers.1."}, toy.config("run"));
}

TEST(Session, ATensorLargerThanAnAllocationIsAMatterOfMemory) {
  const ToyFolder toy;
  DeviceProfile device;
  device.max_allocation_bytes = 4096;
  TrainConfig config = toy.config("run");
  config.per_device_train_batch_size = 64;
  try {
    plan_training(config, device);
    ADD_FAILURE() << "planned";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::out_of_memory) << error.what();
    EXPECT_NE(std::string(error.what()).find("per_device_train_batch_size"), std::string::npos) << error.what();
  }
}

TEST(Session, FromAConfigAloneASeedDecides) {
  const ToyFolder toy;
  std::string weights[3];
  for (int i = 0; i < 3; ++i) {
    TrainConfig config = toy.config("run" + std::to_string(i));
    config.model_name_or_path.reset();
    config.init_from_config = (toy.base() / "config.json").string();
    config.max_steps = 2;
    config.save_strategy = SaveStrategy::no;
    config.seed = i == 2 ? 7 : 42;
    run(config);
    weights[i] = bytes(fs::path(config.output_dir) / "model.safetensors");
  }
  EXPECT_TRUE(weights[0] == weights[1]);
  EXPECT_FALSE(weights[0] == weights[2]);
}

}  // namespace
}  // namespace lemnos::train
