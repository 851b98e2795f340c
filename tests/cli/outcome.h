#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "cli/program.h"
#include "support/toy_run.h"

namespace lemnos::test {

namespace fs = std::filesystem;
using train::ToyFolder;

/// What a finished `lemnos <arguments>` left.
struct Outcome {
  int code;
  std::string out, err;
};

inline Outcome lemnos(const ToyFolder& toy, const std::vector<std::string>& arguments) {
  Program program(toy.base().parent_path(), arguments);
  const int code = program.wait();
  return {code, program.out(), program.err()};
}

/// A tokenizer of the toy's size: the printable characters from "!" on.
inline std::string toy_tokenizer() {
  Json vocabulary = Json::object(), model, tokenizer;
  for (int id = 0; id < 40; ++id) vocabulary.set(std::string(1, static_cast<char>('!' + id)), id);
  model.set("type", "BPE");
  model.set("vocab", std::move(vocabulary));
  model.set("merges", Json::array());
  tokenizer.set("model", std::move(model));
  return tokenizer.dump();
}

inline void expect(const Outcome& outcome, int code, std::initializer_list<std::string> parts) {
  EXPECT_EQ(outcome.code, code) << outcome.err;
  for (const std::string& part : parts)
    EXPECT_NE(outcome.err.find(part), std::string::npos) << part << " is not in: " << outcome.err;
}

/// run.yaml beside the data; `more` are lines of its own.
inline std::string write_recipe(const ToyFolder& toy, const std::string& more = "") {
  const fs::path file = toy / "run.yaml";
  write_file_atomic(file, "model_name_or_path: " + toy.base().string() + "\ndataset_name: " + toy.rows().string() +
                              "\nper_device_train_batch_size: 2\ngradient_accumulation_steps: 2\nnum_train_epochs: 4\n"
                              "pad_to_multiple_of: 8\nlearning_rate: 1e-2\nsave_steps: 1\nlogging_steps: 1\n"
                              "use_cpu: true\nuse_peft: true\nlora_r: 4\nlora_dropout: 0.1\n" + more);
  return file.string();
}

inline std::vector<std::string> train_command(const std::string& recipe, const fs::path& output,
                                       const std::vector<std::string>& more = {}) {
  std::vector<std::string> words = {"train", "-c", recipe, "--output-dir", output.string()};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace lemnos::test
