// Gates that stay green under a damaged engine are broken. Each control damages the graphs of a
// bundle that is green otherwise; $LEMNOS_BUNDLES is a folder made by parity.make (scripts/test).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <utility>

#include "graph/op.h"
#include "support/device.h"
#include "verify/verify.h"

namespace lemnos::test {
namespace {

class NegativeControl : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (std::getenv("LEMNOS_BUNDLES") == nullptr) GTEST_SKIP() << "LEMNOS_BUNDLES is not set";
  }

  /// The kinds that were judged red ("logits", "grad" ...).
  std::vector<std::string> red_kinds(const std::string& bundle, std::function<void(Graph&)> sabotage) {
    const auto folder = std::filesystem::path(std::getenv("LEMNOS_BUNDLES")) / bundle;
    const VerifyReport report = verify_reference(device(), folder, {.sabotage = std::move(sabotage)});
    std::vector<std::string> red;
    for (const KindFigures& kind : report.kinds)
      if (!kind.gate1.value_or(true) || !kind.gate2.value_or(true)) red.push_back(kind.kind);
    EXPECT_EQ(report.ok, red.empty());
    return red;
  }

  void expect_red(const std::string& bundle, const std::function<void(Graph&)>& sabotage) {
    EXPECT_EQ(red_kinds(bundle, {}), std::vector<std::string>()) << bundle << " is not green undamaged";
    const std::vector<std::string> red = red_kinds(bundle, sabotage);
    for (const char* kind : {"logits", "grad"})
      EXPECT_NE(std::find(red.begin(), red.end(), kind), red.end()) << kind << " stayed green";
  }
};

/// Calls `damage` on the first node of that op; the test fails when there is none.
std::function<void(Graph&)> first_of(const std::string& op, std::function<void(Node&)> damage) {
  return [op, damage = std::move(damage)](Graph& graph) {
    for (Node& node : graph.nodes)
      if (node.op->name == op) return damage(node);
    ADD_FAILURE() << "no node " << op;
  };
}

void set_attr(Node& node, const std::string& name, const AttrValue& value) {
  auto items = node.attrs.items();
  for (auto& [key, old] : items)
    if (key == name) old = value;
  node.attrs = Attrs::of(std::move(items));
}

TEST_F(NegativeControl, RmsNormEpsilonTenTimesTooLarge) {
  expect_red("llama/tiny-eps3-base-s1", first_of("rms_norm", [](Node& node) {
               set_attr(node, "eps", 10 * node.attrs.get_double("eps"));
             }));
}

TEST_F(NegativeControl, GateAndUpSwapped) {
  expect_red("llama/tiny-eps3-base-s1", first_of("swiglu", [](Node& node) { std::swap(node.inputs[0], node.inputs[1]); }));
}

TEST_F(NegativeControl, BiasDropped) {
  expect_red("qwen2/tiny-eps3-base-s1", first_of("linear", [](Node& node) {
               ASSERT_TRUE(node.inputs[2].valid());
               node.inputs[2] = {};
             }));
}

TEST_F(NegativeControl, RotationBackwards) {
  expect_red("llama/tiny-eps3-base-s1", first_of("rope", [](Node& node) { set_attr(node, "inverse", true); }));
}

TEST_F(NegativeControl, AttentionScaleSlightlyOff) {
  expect_red("llama/tiny-eps3-base-s1", first_of("attention", [](Node& node) {
               set_attr(node, "scale", 1.001 * node.attrs.get_double("scale"));
             }));
}

TEST_F(NegativeControl, LoraScalingWithoutAlpha) {
  expect_red("llama/tiny-eps3-lora-s1", [](Graph& graph) {
    for (Node& node : graph.nodes)
      if (std::string_view(node.op->name) == "linear" && node.attrs.get_double("scale") != 1.0)
        return set_attr(node, "scale", 1.0);
    ADD_FAILURE() << "no LoRA product";
  });
}

TEST_F(NegativeControl, WeightDecayLeftOut) {
  const std::string bundle = "llama/tiny-stock-optimizer-s1";
  EXPECT_EQ(red_kinds(bundle, {}), std::vector<std::string>());
  const std::vector<std::string> red = red_kinds(bundle, [](Graph& graph) {
    for (Node& node : graph.nodes)
      if (std::string_view(node.op->name) == "adamw") set_attr(node, "decay", false);
  });
  EXPECT_NE(std::find(red.begin(), red.end(), "step10"), red.end());
}

}  // namespace
}  // namespace lemnos::test
