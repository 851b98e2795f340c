// Gates that stay green under a damaged engine are broken. Each control damages the engine on a bundle
// that is green otherwise; $LEMNOS_BUNDLES is a folder made by parity.make (scripts/parity).
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <utility>

#include "graph/op.h"
#include "support/device.h"
#include "verify/verify.h"
#include "vk/shaders.h"

namespace lemnos::test {
namespace {

constexpr const char* kBase = "llama/tiny-eps3-base-s1";
constexpr const char* kLora = "llama/tiny-eps3-lora-s1";

class NegativeControl : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (std::getenv("LEMNOS_BUNDLES") == nullptr) GTEST_SKIP() << "LEMNOS_BUNDLES is not set";
  }

  VerifyReport verify(const std::string& bundle, Sabotage sabotage = {}) {
    const auto folder = std::filesystem::path(std::getenv("LEMNOS_BUNDLES")) / bundle;
    return verify_reference(device(), folder, {.sabotage = std::move(sabotage)});
  }

  /// Undamaged it is green; damaged it is not.
  VerifyReport expect_red(const std::string& bundle, Sabotage sabotage) {
    static std::map<std::string, bool> green;
    if (!green.contains(bundle)) green[bundle] = verify(bundle).ok;
    EXPECT_TRUE(green[bundle]) << bundle << " is not green undamaged";
    VerifyReport report = verify(bundle, std::move(sabotage));
    EXPECT_FALSE(report.ok) << bundle << " stayed green";
    return report;
  }

  void expect_red_kinds(const std::string& bundle, Sabotage sabotage, const std::vector<std::string>& wanted) {
    const VerifyReport report = expect_red(bundle, std::move(sabotage));
    for (const std::string& kind : wanted) EXPECT_TRUE(is_red(report, kind)) << kind << " stayed green";
  }
  void expect_red_model(const std::string& bundle, Sabotage sabotage) {
    expect_red_kinds(bundle, std::move(sabotage), {"logits", "grad"});
  }

  static bool is_red(const VerifyReport& report, const std::string& name) {
    return std::ranges::any_of(report.kinds, [&](const KindFigures& kind) {
      return kind.kind == name && (!kind.gate1.value_or(true) || !kind.gate2.value_or(true));
    });
  }
};

/// Calls `damage` on the first node of that op; the test fails when there is none.
Sabotage first_of(const std::string& op, std::function<void(Node&)> damage) {
  return {.graph = [op, damage = std::move(damage)](Graph& graph) {
    for (Node& node : graph.nodes)
      if (node.op->name == op) return damage(node);
    ADD_FAILURE() << "no node " << op;
  }};
}

void set_attr(Node& node, const std::string& name, const AttrValue& value) {
  auto items = node.attrs.items();
  for (auto& [key, old] : items)
    if (key == name) old = value;
  node.attrs = Attrs::of(std::move(items));
}

/// The first value of that kind whose name ends so.
const Value& value_of(const Graph& graph, ValueKind kind, const std::string& end) {
  for (const ValueId id : graph.of_kind(kind))
    if (graph[id].name.ends_with(end)) return graph[id];
  ADD_FAILURE() << "nothing is named ..." << end;
  return graph[graph.of_kind(kind).front()];
}

std::vector<float> read_floats(Storage& storage, const std::string& name) {
  const std::vector<std::byte> bytes = storage.read(name);
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

void write_floats(Storage& storage, const std::string& name, const std::vector<float>& values) {
  storage.write(name, std::as_bytes(std::span(values)));
}

/// The kernel's SPIR-V with one float constant changed wherever it stands.
std::vector<uint32_t> with_constant(const std::string& kernel, float from, float to) {
  for (const vk::Shader& shader : vk::shaders()) {
    if (shader.name != kernel) continue;
    std::vector<uint32_t> words(shader.words.begin(), shader.words.end());
    EXPECT_NE(std::ranges::count(words, std::bit_cast<uint32_t>(from)), 0) << kernel << " has no " << from;
    std::ranges::replace(words, std::bit_cast<uint32_t>(from), std::bit_cast<uint32_t>(to));
    return words;
  }
  ADD_FAILURE() << "no kernel " << kernel;
  return {};
}

TEST_F(NegativeControl, OneConstantOfOneKernelWithThreeDigits) {
  // The cubic term of the exponential that SwiGLU's kernel uses.
  expect_red_model(kBase, {.shaders = {{"swiglu", with_constant("swiglu", 0.166666672f, 0.167f)}}});
}

TEST_F(NegativeControl, RmsNormEpsilonTenTimesTooLarge) {
  expect_red_model(kBase, first_of("rms_norm", [](Node& node) { set_attr(node, "eps", 10 * node.attrs.get_double("eps")); }));
}

TEST_F(NegativeControl, GateAndUpSwapped) {
  expect_red_model(kBase, first_of("swiglu", [](Node& node) { std::swap(node.inputs[0], node.inputs[1]); }));
}

TEST_F(NegativeControl, BiasDropped) {
  expect_red_model("qwen2/tiny-eps3-base-s1", first_of("linear", [](Node& node) {
                     ASSERT_TRUE(node.inputs[2].valid());
                     node.inputs[2] = {};
                   }));
}

TEST_F(NegativeControl, RotationBackwards) {
  expect_red_model(kBase, first_of("rope", [](Node& node) { set_attr(node, "inverse", true); }));
}

TEST_F(NegativeControl, RotaryPairsSwapped) {
  // (cos, sin) taken as (sin, cos): each pair comes out with its two halves exchanged.
  expect_red_model(kBase, first_of("rope", [](Node& node) { std::swap(node.inputs[2], node.inputs[3]); }));
}

TEST_F(NegativeControl, AttentionScaleSlightlyOff) {
  expect_red_model(kBase, first_of("attention", [](Node& node) {
                     set_attr(node, "scale", 1.001 * node.attrs.get_double("scale"));
                   }));
}

TEST_F(NegativeControl, LoraScalingWithoutAlpha) {
  int damaged = 0;  // graphs; the base's own has no LoRA product
  expect_red_model(kLora, {.graph = [&](Graph& graph) {
                     for (Node& node : graph.nodes)
                       if (std::string_view(node.op->name) == "linear" && node.attrs.get_double("scale") != 1.0) {
                         ++damaged;
                         return set_attr(node, "scale", 1.0);
                       }
                   }});
  EXPECT_GE(damaged, 2) << "logits and training";
}

TEST_F(NegativeControl, LoraATransposed) {
  expect_red_model(kLora, {.weights = [](Storage& storage, const Graph& graph) {
                     const Value& a = value_of(graph, ValueKind::parameter, "q_proj.lora_A.weight");
                     const std::vector<float> right = read_floats(storage, a.name);
                     const auto rows = static_cast<size_t>(a.type.shape[0]), columns = static_cast<size_t>(a.type.shape[1]);
                     std::vector<float> wrong;
                     for (size_t j = 0; j < columns; ++j)
                       for (size_t i = 0; i < rows; ++i) wrong.push_back(right[i * columns + j]);
                     write_floats(storage, a.name, wrong);
                   }});
}

TEST_F(NegativeControl, DecayOnAFrozenTensor) {
  // Of the profile that decays: 1 - lr * weight_decay.
  const VerifyReport report = expect_red("llama/tiny-stock-lora-s1", {.stepped = [](Storage& storage, const Graph& graph) {
                                           const Value& frozen = value_of(graph, ValueKind::parameter, "q_proj.weight");
                                           ASSERT_FALSE(frozen.trainable);
                                           std::vector<float> values = read_floats(storage, frozen.name);
                                           for (float& x : values) x *= 1.0f - 1e-7f;
                                           write_floats(storage, frozen.name, values);
                                         }});
  EXPECT_GT(report.invariants.base_drift, 0);
  EXPECT_LT(report.invariants.base_drift, 2e-7) << "no gate would have seen it";
}

TEST_F(NegativeControl, OneMomentNotRestored) {
  for (const char* bundle : {kBase, kLora})
    for (const char* moment : {"adam/m/", "adam/v/"}) {
      const VerifyReport report = expect_red(bundle, {.resumed = [&](Storage& storage, const Graph& graph) {
                                               for (const ValueId id : graph.of_kind(ValueKind::state))
                                                 if (graph[id].name.starts_with(moment)) return storage.clear(graph[id].name);
                                               ADD_FAILURE() << "no moment " << moment;
                                             }});
      EXPECT_EQ(report.invariants.resume_bit_equal, false) << bundle << " " << moment;
    }
}

TEST_F(NegativeControl, ADocumentThatIsNotItself) {
  // Only the graphs of the packed row, which are the longest.
  const VerifyReport report = expect_red("llama/packed-eps3-base-s1", {.graph = [](Graph& graph) {
                                           constexpr int64_t kPackedTokens = 131;
                                           for (Node& node : graph.nodes) {
                                             if (std::string_view(node.op->name) != "rms_norm") continue;
                                             const Shape& shape = graph[node.inputs[0]].type.shape;
                                             if (shape[0] == kPackedTokens) set_attr(node, "eps", 1.01e-6);
                                           }
                                         }});
  EXPECT_EQ(report.invariants.documents_bit_equal, false);
}

TEST_F(NegativeControl, WeightDecayLeftOut) {
  expect_red_kinds("llama/tiny-stock-optimizer-s1", {.graph = [](Graph& graph) {
                     for (Node& node : graph.nodes)
                       if (std::string_view(node.op->name) == "adamw") set_attr(node, "decay", false);
                   }}, {"step10"});
}

TEST_F(NegativeControl, FourUlpsOfAParameterNearZero) {
  // Of 6e-8 each: far inside what gate 1 allows, and what any parameter of magnitude 1 would show.
  expect_red_kinds("llama/tiny-eps3-optimizer-near-zero-s1", {.stepped = [](Storage& storage, const Graph& graph) {
                     for (const ValueId id : graph.of_kind(ValueKind::parameter)) {
                       std::vector<float> values = read_floats(storage, graph[id].name);
                       for (float& x : values) x *= 1.0f + 4 * 6e-8f;
                       write_floats(storage, graph[id].name, values);
                     }
                   }}, {"step10"});
}

}  // namespace
}  // namespace lemnos::test
