#include "doctor/kernel_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "doctor/passes.h"
#include "graph/builder.h"
#include "io/file.h"
#include "io/temporary_dir.h"
#include "ops/elementwise/scale.params.h"
#include "support/device.h"

namespace lemnos::doctor {
namespace {

const OpDef& op_named(std::string_view name) {
  const auto ops = all_ops();
  return **std::find_if(ops.begin(), ops.end(), [&](const OpDef* op) { return op->name == name; });
}

/// An op of the program with something wrong about it.
OpDef damaged(std::string_view name, std::vector<KernelCall> (*dispatch)(const DispatchContext&)) {
  OpDef op = op_named(name);
  if (dispatch != nullptr) op.dispatch = dispatch;
  return op;
}

Graph two_inputs(const OpDef& op, const Shape& a, const Shape& b, size_t absent = 0, Attrs attrs = {}) {
  Graph graph;
  Builder builder(graph);
  std::vector<ValueId> inputs{builder.input("a", a, DType::f32), builder.input("b", b, DType::f32)};
  inputs.resize(2 + absent);
  builder.emit(op, std::move(inputs), std::move(attrs));
  return graph;
}

Graph addition(const OpDef& op) { return two_inputs(op, {5, 7}, {5, 7}); }
Graph square_linear(const OpDef& op) { return two_inputs(op, {40, 64}, {64, 64}, 4, {{"scale", 1.0}}); }

class KernelCheck : public test::DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    use_cache(cache_.path());
  }
  static void use_cache(const std::filesystem::path& folder) { ::setenv("XDG_CACHE_HOME", folder.c_str(), 1); }
  KernelReport check(const Graph& graph, int runs = 2) {
    const Graph* graphs[] = {&graph};
    return check_kernels(device(), graphs, {.runs = runs});
  }
  std::string fault_of(const Graph& graph) {
    const KernelReport report = check(graph);
    EXPECT_EQ(report.failed(), 1);
    return report.cases.at(0).finding.fault;
  }

  TemporaryDir cache_{"lemnos-doctor"};
};

std::vector<KernelCall> as_another_layout(const DispatchContext& c) {
  std::vector<KernelCall> calls = op_named("linear").dispatch(c);
  calls[0].constants[0] = 0;  // the weight is taken for its transpose
  return calls;
}

TEST_F(KernelCheck, AWrongConstantIsFound) {
  EXPECT_EQ(check(square_linear(op_named("linear"))).failed(), 0);
  const OpDef wrong = damaged("linear", as_another_layout);
  EXPECT_NE(fault_of(square_linear(wrong)).find("output 0 element"), std::string::npos);
}

void off_by_little(const ReferenceContext& c) {
  op_named("add").reference(c);
  c.out(0).data[11] *= 1 + 1e-6;
}

TEST_F(KernelCheck, OneElementThatIsOffBySixteenRoundingsIsFound) {
  OpDef wrong = op_named("add");
  wrong.reference = off_by_little;
  EXPECT_NE(fault_of(addition(wrong)).find("element 11 "), std::string::npos);
}

/// `count` of AddParams stands behind three addresses.
std::vector<KernelCall> with_count(const DispatchContext& c, int32_t more) {
  std::vector<KernelCall> calls = op_named("add").dispatch(c);
  int32_t count = 0;
  std::memcpy(&count, calls[0].push.data() + 24, 4);
  count += more;
  std::memcpy(calls[0].push.data() + 24, &count, 4);
  return calls;
}
std::vector<KernelCall> too_far(const DispatchContext& c) { return with_count(c, 1); }
std::vector<KernelCall> not_far_enough(const DispatchContext& c) { return with_count(c, -1); }
std::vector<KernelCall> too_early(const DispatchContext& c) {
  std::vector<KernelCall> calls = op_named("add").dispatch(c);
  for (BufferRef& buffer : calls[0].buffers) buffer.byte_offset = -16;
  return calls;
}

TEST_F(KernelCheck, WritingOutOfBoundsIsFound) {
  const OpDef behind = damaged("add", too_far), before = damaged("add", too_early);
  EXPECT_NE(fault_of(addition(behind)).find("behind the end of tensor"), std::string::npos);
  EXPECT_NE(fault_of(addition(before)).find("before the start of tensor"), std::string::npos);
}

TEST_F(KernelCheck, AnElementThatIsNotWrittenIsFound) {
  const OpDef wrong = damaged("add", not_far_enough);
  EXPECT_NE(fault_of(addition(wrong)).find("element 34 "), std::string::npos);
}

TEST_F(KernelCheck, LargeTensorsAreReadWhereTheyAreCompared) {
  const Shape shape{3000, 1500};  // 18 MB
  EXPECT_EQ(check(two_inputs(op_named("add"), shape, shape)).failed(), 0);
  const OpDef wrong = damaged("add", not_far_enough);
  const Graph graph = two_inputs(wrong, shape, shape);
  const Graph* graphs[] = {&graph};
  const KernelReport report = check_kernels(device(), graphs, {.remember = false});
  EXPECT_EQ(report.failed(), 2);
  EXPECT_TRUE(report.cases.at(1).kernel_case.sampled);
  EXPECT_NE(report.cases.at(1).finding.fault.find("element 4499999 "), std::string::npos) << report.cases[1].finding.fault;
}

TEST_F(KernelCheck, SharingMemoryThatTheKernelCannotBearIsFound) {
  OpDef wrong = op_named("linear");
  wrong.inplace = {{0, 0}};  // a row of x is still read when parts of y are there
  const Graph graph = two_inputs(wrong, {64, 512}, {512, 512}, 4, {{"scale", 1.0}});
  EXPECT_GT(check(graph).failed(), 0);
}

/// Where y takes over x, x is one ulp larger: within rope's tolerance, but not the same bits.
std::vector<KernelCall> after_a_scale(const DispatchContext& c) {
  const ScaleParams params{.x = {}, .y = {}, .count = 6 * 2 * 8, .factor = 1.00000012f};
  std::vector<KernelCall> calls{kernel("scale", params, {c.in(0), c.out(0)}, {1, 1, 1})};
  for (const KernelCall& call : op_named("rope").dispatch(c)) calls.push_back(call);
  return calls;
}

TEST_F(KernelCheck, OtherBitsInAnotherRunAreFound) {
  Graph graph;
  Builder builder(graph);
  const OpDef op = damaged("rope", after_a_scale);
  builder.emit(op,
               {builder.input("x", {6, 2, 8}, DType::f32), builder.input("positions", {6}, DType::i32),
                builder.input("cos", {5, 4}, DType::f32), builder.input("sin", {5, 4}, DType::f32)},
               {{"inverse", false}});
  EXPECT_NE(fault_of(graph).find("run 2 gave other bits"), std::string::npos);
}

TEST_F(KernelCheck, WhatPassedIsNotRunAgainAndWhatFailedIs) {
  const OpDef wrong = damaged("linear", as_another_layout);
  const Graph good = addition(op_named("add")), bad = square_linear(wrong);
  const Graph* graphs[] = {&good, &bad};
  const KernelReport first = check_kernels(device(), graphs);
  EXPECT_EQ(first.run(), 2);
  EXPECT_EQ(first.failed(), 1);
  const KernelReport second = check_kernels(device(), graphs);
  EXPECT_EQ(second.run(), 1);
  EXPECT_EQ(second.failed(), 1);
  EXPECT_TRUE(second.cases[0].remembered);
  EXPECT_EQ(check_kernels(device(), graphs, {.remember = false}).run(), 2);
}

TEST_F(KernelCheck, AnotherDriverOrDeviceHasPassedNothing) {
  Passes passes(device().info());
  passes.add("a case");
  passes.save();
  EXPECT_TRUE(Passes(device().info()).contains("a case"));
  vk::DeviceInfo other = device().info();
  other.driver += ".1";
  EXPECT_FALSE(Passes(other).contains("a case"));
  other = device().info();
  other.driver_uuid[3] ^= 1;
  EXPECT_FALSE(Passes(other).contains("a case"));
  other = device().info();
  other.device_uuid[0] ^= 1;
  EXPECT_FALSE(Passes(other).contains("a case"));
}

TEST_F(KernelCheck, TwoRunsAddToOneFileAndADamagedOneHoldsNothing) {
  Passes one(device().info()), two(device().info());
  one.add("one");
  two.add("two");
  one.save();
  two.save();
  EXPECT_TRUE(Passes(device().info()).contains("one"));
  EXPECT_TRUE(Passes(device().info()).contains("two"));
  for (const auto& entry : std::filesystem::directory_iterator(cache_.path() / "lemnos"))
    if (entry.path().extension() == ".json") write_file_atomic(entry.path(), R"({"format": 1, "passed": ["one")");
  EXPECT_FALSE(Passes(device().info()).contains("one"));
}

TEST_F(KernelCheck, AFolderThatCannotBeWrittenIsNoError) {
  const std::filesystem::path file = cache_.path() / "file";
  write_file_atomic(file, "");
  use_cache(file);
  const Graph graph = addition(op_named("add"));
  EXPECT_EQ(check(graph).failed(), 0);
  EXPECT_EQ(check(graph).run(), 1);  // again
}

TEST_F(KernelCheck, AFailureStopsTheTrainingAndNamesTheKernel) {
  const OpDef wrong = damaged("linear", as_another_layout);
  const Graph graph = square_linear(wrong);
  const Graph* graphs[] = {&graph};
  try {
    require_sound_kernels(device(), graphs);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::device);
    const std::string message = error.what();
    EXPECT_NE(message.find("linear gemm_"), std::string::npos) << message;
    EXPECT_NE(message.find("allowed"), std::string::npos) << message;
  }
}

TEST_F(KernelCheck, AReferenceThatIsNotFiniteIsNotBlamedOnTheDriver) {
  for (const double eps : {-1.0, -1e300}) {
    const Graph graph = two_inputs(op_named("rms_norm"), {6, 16}, {16}, 0, {{"eps", eps}});
    const Graph* graphs[] = {&graph};
    const KernelReport report = check_kernels(device(), graphs);
    EXPECT_EQ(report.failed(), 1);
    EXPECT_TRUE(report.cases.at(0).finding.no_answer);
    EXPECT_NE(report.cases.at(0).finding.fault.find("the reference's output 0 element 0 is"), std::string::npos);
    try {
      require_sound_kernels(device(), graphs);
      FAIL() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::corrupt_input);
      const std::string message = error.what();
      EXPECT_NE(message.find("eps"), std::string::npos) << message;
      EXPECT_NE(message.find("no fault of the device"), std::string::npos) << message;
    }
  }
}

TEST_F(KernelCheck, AnOpThatTheTableDoesNotKnowIsAFailure) {
  OpDef unknown = op_named("add");
  unknown.name = "unheard_of";
  const Graph graph = addition(unknown);
  const Graph* graphs[] = {&graph};
  EXPECT_TRUE(check(graph).cases.at(0).not_checked);
  EXPECT_THROW(require_sound_kernels(device(), graphs), Error);
}

}  // namespace
}  // namespace lemnos::doctor
