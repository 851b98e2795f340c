#include "proof/sources.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <set>

#include "graph/op.h"
#include "io/file.h"
#include "io/temporary_dir.h"
#include "source_scan.h"
#include "support/toy_engine.h"
#include "train/claim.h"

namespace lemnos::proof {
namespace {

namespace fs = std::filesystem;

const fs::path kTree = LEMNOS_SOURCE_TREE;
constexpr const char* kMoe = R"({"num_local_experts": 4, "num_experts_per_tok": 2})";

ProgramParts parts(const char* family, const std::string& stage = "base", const char* more = "{}") {
  return claim_of(test::toy_model(family, more), stage, {}).program;
}

std::set<std::string> paths(const std::vector<const SourceFile*>& sources) {
  std::set<std::string> found;
  for (const SourceFile* source : sources) found.insert(source->path);
  return found;
}

std::set<std::string> paths_of(const ProgramParts& program) { return paths(closure(source_table(), program)); }

/// A copy of the sources, to be edited.
class Tree {
 public:
  Tree() : dir_("lemnos-sources") {
    for (const fs::path& file : sources_to_scan(kTree)) {
      const fs::path copy = dir_.path() / file.lexically_relative(kTree);
      fs::create_directories(copy.parent_path());
      fs::copy_file(file, copy);
    }
  }
  std::string fingerprint(const ProgramParts& program) const {
    return proof::fingerprint(scan_sources(dir_.path()), program);
  }
  void replace(const std::string& path, const std::string& from, const std::string& to) const {
    std::string text = read_file(dir_.path() / path);
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << path << " has no " << from;
    std::ofstream(dir_.path() / path) << text.replace(at, from.size(), to);
  }
  void append(const std::string& path, const std::string& text) const {
    std::ofstream(dir_.path() / path, std::ios::app) << text;
  }

 private:
  TemporaryDir dir_;
};

TEST(Stripped, CommentsAndLayoutAreGone) {
  EXPECT_EQ(stripped("int  a; // one\n\n/* two\nlines */ int\tb;"), stripped("int a;\nint b;"));
  EXPECT_EQ(stripped("a/**/b"), "a b");
  EXPECT_NE(stripped("int a;"), stripped("int b;"));
}

TEST(Stripped, LiteralsAreLeftAlone) {
  EXPECT_EQ(stripped("f(\"a  // b\", '\"', 'c'); // d"), "f(\"a  // b\", '\"', 'c');");
  EXPECT_EQ(stripped(R"x(g("\"  /* ", 1'000'000, '\''); /* h */)x"), R"x(g("\"  /* ", 1'000'000, '\'');)x");
  EXPECT_EQ(stripped("r(R\"t(  // \" )t\"); // s"), "r(R\"t(  // \" )t\");");
}

TEST(Stripped, PreprocessorLinesStayLines) {
  EXPECT_EQ(stripped("#define A 1\nint b;\n  #if A // why\nc\n#endif"), "#define A 1\nint b;\n#if A\nc\n#endif");
  EXPECT_EQ(stripped("#define A \\\n  1\nb"), stripped("#define A 1\nb"));
}

TEST(Stripped, HowAShaderIsCompiledIsNoComment) {
  EXPECT_NE(stripped("//! variant gpu -O\nvoid main() {}"), stripped("//! variant gpu\nvoid main() {}"));
  EXPECT_EQ(stripped("//! requires this\nvoid main() {}"), "void main() {}");
}

TEST(Stripped, CMakeComments) {
  EXPECT_EQ(stripped_cmake("set(a \"# b\")  # c\nset(d)"), stripped_cmake("set(a \"# b\")\n\nset(d)"));
  EXPECT_NE(stripped_cmake("set(a \"# b\")"), stripped_cmake("set(a \"# c\")"));
}

TEST(SourceTable, IsTheTreesOwn) { EXPECT_EQ(source_table(), scan_sources(kTree)); }

TEST(SourceTable, HasEachOpAndFamilyOnce) {
  std::multiset<std::string> ops, families_found;
  for (const SourceFile& source : source_table()) {
    ops.insert(source.ops.begin(), source.ops.end());
    if (!source.family.empty()) families_found.insert(source.family);
  }
  for (const OpDef* op : all_ops()) EXPECT_EQ(ops.count(op->name), 1u) << op->name;
  EXPECT_EQ(ops.size(), all_ops().size());
  for (const Family* family : families()) EXPECT_EQ(families_found.count(family->model_type), 1u) << family->model_type;
}

TEST(Closure, HoldsWhatTheProgramUses) {
  const std::set<std::string> llama = paths_of(parts("llama"));
  for (const char* path :
       {"graph/autodiff.cpp", "graph/memory_plan.cpp", "runtime/program.cpp", "runtime/storage.cpp", "train/engine.cpp",
        "train/engine_plan.cpp", "train/inputs.cpp", "train/weights.cpp", "models/llama.cpp", "models/blocks.cpp",
        "models/rope_table.cpp", "models/model_builder.cpp", "models/model.cpp", "ops/attention/attention_grad_key.comp",
        "ops/attention/tile_gpu.glsl", "ops/attention/tile_cpu.glsl", "ops/embed/embedding_order.cpp",
        "ops/linear/gemm_cpu.comp", "ops/linear/gemm_gpu.comp", "ops/linear/gemm_tiles.cpp", "ops/linear/column_sum.cpp",
        "ops/linear/column_sum.comp", "ops/loss/concat_rows.comp", "ops/optim/adamw_step.cpp", "ops/optim/adamw.comp",
        "ops/glsl/math.glsl", "io/rope_config.cpp", "io/tensor_codec.cpp", "data/batch.cpp", "cmake/Shaders.cmake"})
    EXPECT_TRUE(llama.contains(path)) << path;
}

TEST(Closure, HoldsNothingElse) {
  const std::set<std::string> llama = paths_of(parts("llama")), lora = paths_of(parts("llama", "lora"));
  for (const char* path :
       {"models/qwen3.cpp", "models/mixtral.cpp", "models/features.cpp", "ops/moe/moe_route.cpp", "ops/moe/moe_route.comp",
        "ops/attention/attention_cached.cpp", "ops/attention/attention_append.comp", "ops/elementwise/scale.comp",
        "ops/elementwise/dropout.comp", "ops/glsl/math_probe.comp", "peft/lora.cpp", "graph/interpreter.cpp"})
    EXPECT_FALSE(llama.contains(path)) << path;
  EXPECT_TRUE(lora.contains("peft/lora.cpp"));
  EXPECT_TRUE(lora.contains("peft/adapter_config.cpp"));
  EXPECT_TRUE(lora.contains("ops/elementwise/dropout.comp"));
  EXPECT_TRUE(lora.contains("base/philox.cpp"));
  EXPECT_FALSE(lora.contains("models/qwen3.cpp"));
  const std::set<std::string> optimizer = paths_of(parts("llama", "optimizer"));
  EXPECT_TRUE(optimizer.contains("ops/optim/adamw.comp"));
  EXPECT_FALSE(optimizer.contains("models/llama.cpp"));
  EXPECT_FALSE(optimizer.contains("ops/attention/attention.comp"));
}

/// A training program on frozen weights of 16 bits where there are any, and its logits.
EnginePlan plan_of(const ModelConfig& model, const std::string& stage, const DeviceProfile& device) {
  EngineSetup setup{.model = model, .buckets = {{2, 64, 4}, {8, 512, 16}}, .want_logits = true};
  if (stage == "lora") setup.lora = LoraConfig{.r = 4, .lora_dropout = 0.1, .target_modules = {std::vector<std::string>{"q_proj", "v_proj"}}};
  for (const Value& parameter : outline(model).parameters)
    if (parameter.type.shape.size() > 1) setup.dtypes[parameter.name] = DType::bf16;
  return plan_engine(setup, device);
}

std::set<std::string> shader_files(const EnginePlan& plan, const DeviceProfile& device) {
  std::set<std::string> files;
  for (const auto* list : {&plan.training, &plan.logits})
    for (const PlannedGraph& planned : *list)
      for (const Node& node : planned.graph.nodes)
        for (const KernelCall& call : node.op->dispatch({planned.graph, node, device}))
          files.insert(call.shader.substr(0, call.shader.find('.')) + ".comp");
  return files;
}

void expect_kernels_in_closure(const ModelConfig& model, const std::string& stage) {
  std::set<std::string> held;
  for (const std::string& path : paths_of(claim_of(model, stage, {}).program)) held.insert(fs::path(path).filename());
  for (const bool cpu : {false, true}) {
    const DeviceProfile device{.cpu_path = cpu};
    for (const std::string& file : shader_files(plan_of(model, stage, device), device))
      EXPECT_TRUE(held.contains(file)) << model.family->model_type << " " << stage << " " << file;
  }
}

TEST(Closure, HoldsEveryKernelDispatchedOnBothPathsAtAnySize) {
  const std::string experts = R"("num_local_experts": 4, "num_experts_per_tok": 2)";
  const std::string large = R"("hidden_size": 512, "intermediate_size": 700, "vocab_size": 32000)";
  for (const Family* family : families())
    for (const std::string stage : {"base", "lora"})
      for (const std::string& size : {std::string(), large}) {
        const bool moe = std::string(family->model_type) == "mixtral";
        const std::string comma = moe && !size.empty() ? ", " : "";
        expect_kernels_in_closure(test::toy_model(family->model_type, ("{" + size + comma + (moe ? experts : "") + "}").c_str()), stage);
      }
}

TEST(Fingerprint, IsThatOfTheFeaturesNotOfTheSizes) {
  const auto of = [](const ProgramParts& program) { return fingerprint(source_table(), program); };
  const std::string small = of(parts("llama"));
  EXPECT_EQ(small, of(parts("llama", "base", R"({"hidden_size": 2048, "intermediate_size": 8192, "vocab_size": 128256,
      "num_attention_heads": 32, "num_key_value_heads": 8, "num_hidden_layers": 16, "max_position_embeddings": 131072})")));
  EXPECT_NE(small, of(parts("llama", "lora")));
  EXPECT_NE(small, of(parts("qwen2")));
}

TEST(Fingerprint, OfTheTreeIsThatOfTheBinary) {
  EXPECT_EQ(Tree().fingerprint(parts("llama")), fingerprint(source_table(), parts("llama")));
}

TEST(Fingerprint, ChangesWithOneTokenOfAShader) {
  const Tree tree;
  const ProgramParts llama = parts("llama"), mixtral = parts("mixtral", "base", kMoe);
  const std::string before = tree.fingerprint(llama), before_mixtral = tree.fingerprint(mixtral);
  tree.replace("src/ops/moe/moe_route.comp", "void main()", "void  main( )");
  EXPECT_EQ(tree.fingerprint(llama), before) << "a kernel that llama does not use";
  EXPECT_NE(tree.fingerprint(mixtral), before_mixtral);
  tree.replace("src/ops/norm/rms_norm.comp", "+ p.eps", "- p.eps");
  EXPECT_NE(tree.fingerprint(llama), before);
}

TEST(Fingerprint, ChangesWithAnIncludeAVariantOrAFlag) {
  for (const auto& [path, from, to] : std::vector<std::array<std::string, 3>>{
           {"src/ops/glsl/math.glsl", "0xfffff000u", "0xffffe000u"},
           {"src/ops/linear/gemm_gpu.comp", "//! variant bf16 -O", "//! variant bf16"},
           {"cmake/Shaders.cmake", "--target-env=vulkan1.2", "-O"},
           {"src/ops/embed/embedding_order.cpp", "int32_t", "int64_t"}}) {
    const Tree tree;
    const std::string before = tree.fingerprint(parts("llama"));
    tree.replace(path, from, to);
    EXPECT_NE(tree.fingerprint(parts("llama")), before) << path;
  }
}

TEST(Fingerprint, DoesNotChangeWithCommentsLayoutOrAnotherFamily) {
  const Tree tree;
  const std::string before = tree.fingerprint(parts("llama"));
  tree.append("src/ops/norm/rms_norm.comp", "\n\n// said again\n/* and\nagain */\n");
  tree.replace("src/models/llama.cpp", "ModelConfig", "// what is read\n  ModelConfig");
  tree.append("src/models/qwen3.cpp", "int of_qwen3();\n");
  tree.append("src/peft/lora.cpp", "int of_lora();\n");
  tree.append("src/ops/moe/moe_sort.cpp", "int of_experts();\n");
  tree.append("src/ops/attention/attention_cached.cpp", "int of_decoding();\n");
  EXPECT_EQ(tree.fingerprint(parts("llama")), before);
}

TEST(Fingerprint, OfAnotherStageAlone) {
  const Tree tree;
  const std::string base = tree.fingerprint(parts("llama")), lora = tree.fingerprint(parts("llama", "lora"));
  tree.append("src/peft/lora.cpp", "int of_lora();\n");
  EXPECT_EQ(tree.fingerprint(parts("llama")), base);
  EXPECT_NE(tree.fingerprint(parts("llama", "lora")), lora);
}

}  // namespace
}  // namespace lemnos::proof
