// What the program says of itself, of files that are not whole, and of words it does not know.
#include <cmath>
#include <cstdlib>
#include <limits>

#include "cli/outcome.h"

namespace lemnos::test {
namespace {

void expect_error_document(const Outcome& outcome, const std::string& kind, int code, const std::string& part) {
  EXPECT_EQ(outcome.code, code) << outcome.err;
  const Json document = Json::parse(outcome.out, "stdout");
  const Json& error = document.at("error");
  EXPECT_EQ(error.at("kind").as_string(), kind);
  EXPECT_EQ(error.at("exit_code").as_integer(), code);
  EXPECT_NE(error.at("message").as_string().find(part), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
}

TEST(Report, APlanThatDoesNotFitIsPrintedAndSaysSo) {
  const ToyFolder toy;
  const std::string recipe = write_recipe(toy);
  expect(lemnos(toy, {"plan", "-c", recipe, "--memory-limit", "1GiB"}), 0, {});
  const Outcome small = lemnos(toy, {"plan", "-c", recipe, "--memory-limit", "10KB"});
  expect(small, 7, {"memory_limit allows 9.77 KiB", "lower per_device_train_batch_size"});
  EXPECT_NE(small.out.find("peak"), std::string::npos) << small.out;
  const Outcome json = lemnos(toy, {"plan", "-c", recipe, "--memory-limit", "10KB", "--json"});
  EXPECT_EQ(json.code, 7);
  EXPECT_FALSE(Json::parse(json.out, "stdout").at("fits").as_bool());
  EXPECT_TRUE(Json::parse(lemnos(toy, {"plan", "-c", recipe, "--json"}).out, "stdout").at("fits").as_bool());
  EXPECT_EQ(lemnos(toy, train_command(recipe, toy / "run", {"--memory-limit", "10KB"})).code, 7);
}

TEST(Report, APlanSaysWhatIsMadeAgain) {
  const ToyFolder toy;
  const std::string recipe = write_recipe(toy);
  const auto plan = [&](std::vector<std::string> more) {
    std::vector<std::string> words{"plan", "-c", recipe, "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = lemnos(toy, words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return Json::parse(outcome.out, "stdout");
  };
  const Json kept = plan({}), layers = plan({"--gradient-checkpointing"});
  const int64_t peak = kept.at("peak_bytes").as_integer();
  EXPECT_EQ(kept.at("recompute_layers").as_integer(), 0);
  EXPECT_EQ(layers.at("recompute_layers").as_integer(), 2);
  EXPECT_LT(layers.at("peak_bytes").as_integer(), peak);
  const std::string limit = std::to_string(peak - 1) + "B";
  const Json fitted = plan({"--memory-limit", limit});
  EXPECT_LT(fitted.at("peak_bytes").as_integer(), peak);
  EXPECT_EQ(fitted.at("recompute_layers").as_integer(), 0);
  EXPECT_FALSE(fitted.at("recompute").at("ops").as_object().empty());
  const Outcome human = lemnos(toy, {"plan", "-c", recipe, "--gradient-checkpointing", "true"});
  EXPECT_NE(human.out.find("made again           2 whole layers ("), std::string::npos) << human.out;
  expect(lemnos(toy, {"plan", "-c", recipe, "--memory-limit", limit, "--gradient-checkpointing", "false"}), 7,
         {"leave gradient_checkpointing to auto"});
}

TEST(Report, SplitPrecisionIsRefusedWhereThereAreNoMatrixUnits) {
  const ToyFolder toy;
  const std::string recipe = write_recipe(toy);
  expect(lemnos(toy, {"plan", "-c", recipe, "--gemm", "split"}), 3, {"VK_KHR_cooperative_matrix", "use auto or fma"});
  expect(lemnos(toy, {"plan", "-c", recipe, "--gemm", "tf32"}), 2, {"gemm", "tf32"});
  EXPECT_EQ(lemnos(toy, {"plan", "-c", recipe, "--gemm", "fma"}).code, 0);
  const Outcome devices = lemnos(toy, {"devices", "--json"});
  const Json listed = Json::parse(devices.out, "stdout");
  const Json& first = listed.at("devices").as_array().at(0);
  EXPECT_NE(first.at("split_gemm").as_string(), "used") << devices.out;
}

TEST(Report, AProfileSaysWhatTheDeviceWouldAllow) {
  const ToyFolder toy;
  const Outcome outcome = lemnos(toy, {"bench", toy.base().string(), "--steps", "1", "--length", "16", "--device", "cpu", "--profile", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json document = Json::parse(outcome.out, "stdout");
  const Json& work = document.at("work").as_array().at(0);
  EXPECT_GT(work.at("roofline").at("tflops").as_number(), 0);
  EXPECT_GT(work.at("roofline").at("gb_per_s").as_number(), 0);
  EXPECT_GT(work.at("by_op").at("adamw").at("roofline_share").as_number(), 0);
  EXPECT_GT(work.at("by_op").at("linear").at("roofline_share").as_number(), 0);
}

TEST(Report, ErrorsAreDocumentsWithJson) {
  const ToyFolder toy;
  expect_error_document(lemnos(toy, {"--json"}), "usage", 2, "no command is given");
  expect_error_document(lemnos(toy, {"--json", "trian"}), "usage", 2, "did you mean train?");
  expect_error_document(lemnos(toy, {"inspect", "nowhere", "--json"}), "io", 5, "nowhere");
  expect_error_document(lemnos(toy, {"merge", "--json"}), "unsupported", 3, "not there yet");
  expect_error_document(lemnos(toy, {"bench", toy.base().string(), "--device", "no-such", "--json"}), "device", 6, "no-such");
  expect_error_document(lemnos(toy, {"inspect", "bad\xff", "--json"}), "io", 5, "bad\\xff");
  write_file_atomic(toy.base() / "config.json", "{");
  expect_error_document(lemnos(toy, {"inspect", toy.base().string(), "--json"}), "corrupt_input", 4, "config.json");
  EXPECT_EQ(Json::parse(lemnos(toy, {"--json", "--version"}).out, "stdout").at("version").as_string(), LEMNOS_VERSION);
}

TEST(Report, OptionsAreLookedUpBeforeArgumentsAreCounted) {
  const ToyFolder toy;
  const std::string base = toy.base().string(), recipe = write_recipe(toy);
  expect(lemnos(toy, {"generate", base, "--promt", "hi"}), 2, {"--promt is not an option", "did you mean --prompt?"});
  expect(lemnos(toy, {"generate", base, "--prompt", "hi", "--max-new-token", "5"}), 2, {"did you mean --max-new-tokens?"});
  expect(lemnos(toy, {"generate", base, "--prompt", "hello", "world"}), 2, {"\"world\" is one argument too many", "quote"});
  expect(lemnos(toy, {"generate", base, "--prompt", "--seed", "3"}), 2, {"--prompt needs a value", "write --prompt=--seed"});
  expect(lemnos(toy, {"bench", base, "-x"}), 2, {"-x is not an option"});
  expect(lemnos(toy, {"bench", base, "--lora_r=2", "--steps", "1", "--length", "16", "--device", "cpu"}), 0, {});
  expect(lemnos(toy, {"plan", "-c", recipe, "extra"}), 2, {"\"extra\" is not an option"});
  expect(lemnos(toy, {"plan", "-c", recipe, "--lora_r", "2"}), 0, {});
  for (const std::string& config : {"-c=" + recipe, "-c" + recipe, "--config=" + recipe})
    expect(lemnos(toy, {"plan", config}), 0, {});
  expect(lemnos(toy, {"plan", "-c="}), 2, {"needs a value"});
  expect(lemnos(toy, {"plan", "--confg", recipe}), 2, {"did you mean --config?"});
}

TEST(Report, InspectSaysWhatTheTokenizerLacks) {
  const ToyFolder toy;
  const std::string base = toy.base().string();
  EXPECT_NE(lemnos(toy, {"inspect", base}).out.find("tokenizer.json is missing: rows of text and `lemnos generate` do not work"),
            std::string::npos);
  const Outcome json = lemnos(toy, {"inspect", base, "--json"});
  EXPECT_TRUE(Json::parse(json.out, "stdout").at("tokenizer").is_null());
  EXPECT_EQ(Json::parse(json.out, "stdout").at("notes").as_array().size(), 1u);
  write_file_atomic(toy.base() / "tokenizer.json", "{}");
  const std::vector<std::string> plain = {"tokenizer.json: model: it is missing", "the vocabulary and the merges"};
  for (const Outcome& outcome : {lemnos(toy, {"inspect", base}), lemnos(toy, {"plan", "-c", write_recipe(toy)})})
    expect(outcome, 4, {plain[0], plain[1]});
  write_file_atomic(toy.base() / "tokenizer.json", toy_tokenizer());
  const Outcome whole = lemnos(toy, {"inspect", base});
  EXPECT_EQ(whole.code, 0) << whole.err;
  EXPECT_NE(whole.out.find("tokenizer    40 tokens"), std::string::npos) << whole.out;
  EXPECT_NE(whole.out.find("names no EOS token"), std::string::npos) << whole.out;
}

TEST(Report, DamagedWeightsAreCorruptInput) {
  ToyFolder toy;
  write_file_atomic(toy.base() / "tokenizer.json", toy_tokenizer());
  const std::vector<std::string> command = {"generate", toy.base().string(), "--prompt", "AB", "--device", "cpu", "--max-new-tokens", "2"};
  expect(lemnos(toy, command), 0, {});
  toy.poison("model.norm.weight", std::numeric_limits<float>::quiet_NaN());
  expect(lemnos(toy, command), 4, {"damaged"});
}

TEST(Report, AnAdapterOfAnotherBaseIsNoted) {
  const ToyFolder toy;
  write_file_atomic(toy.base() / "tokenizer.json", toy_tokenizer());
  const std::string base = toy.base().string();
  ASSERT_EQ(lemnos(toy, train_command(write_recipe(toy), toy / "run", {"--max-steps", "1"})).code, 0);
  const auto generate = [&](const std::string& model) {
    return lemnos(toy, {"generate", model, "--adapter", (toy / "run").string(), "--prompt", "A", "--device", "cpu", "--max-new-tokens", "1"});
  };
  for (const std::string& model : {base, base + "/", base + "/../base"})
    EXPECT_EQ(generate(model).err.find("the adapter was trained on"), std::string::npos) << model;
  fs::copy(toy.base(), toy / "other");
  expect(generate((toy / "other").string()), 0, {"warning: the adapter was trained on " + base, "other"});
}

TEST(Report, AVariableThatSelectsNoDeviceIsNoted) {
  const ToyFolder toy;
  ::setenv("LEMNOS_DEVICE", "no-such", 1);
  const Outcome outcome = lemnos(toy, {"devices"});
  ::unsetenv("LEMNOS_DEVICE");
  expect(outcome, 0, {"no Vulkan device is selected by LEMNOS_DEVICE=\"no-such\""});
  EXPECT_NE(outcome.out.find("none of them would be used"), std::string::npos) << outcome.out;
}

TEST(Report, OneIsSingularAndBytesThatAreNoTextAreEscaped) {
  const ToyFolder toy;
  const std::string recipe = write_recipe(toy);
  write_file_atomic(toy.rows(), train::toy_rows() + "{\"input_ids\": [1]}\n");
  expect(lemnos(toy, {"plan", "-c", recipe}), 0, {"1 row dropped: fewer than two tokens"});
  write_file_atomic(toy.rows(), "{\"text\": \"a\xff\"}\n");
  expect(lemnos(toy, {"plan", "-c", recipe}), 4, {"rows.jsonl:1", "\\xff"});
}

}  // namespace
}  // namespace lemnos::test
