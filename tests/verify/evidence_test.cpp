#include "verify/evidence.h"

#include <gtest/gtest.h>

#include "base/sha256.h"
#include "io/file.h"
#include "support/toy_engine.h"

namespace lemnos {
namespace {

std::string spirv(const char* family, const Bucket& bucket, bool cpu_path) {
  const DeviceProfile device{.cpu_path = cpu_path};
  return spirv_sha256(plan_engine({.model = test::toy_model(family), .buckets = {bucket}}, device), device);
}

TEST(Evidence, KernelsAreThoseThatRan) {
  const std::string cpu = spirv("llama", {1, 8, 1}, true);
  EXPECT_EQ(cpu, spirv("llama", {2, 16, 3}, true)) << "of another size";
  EXPECT_NE(cpu, spirv("llama", {1, 8, 1}, false));
}

TEST(Evidence, TensorsByNameAndBit) {
  const std::map<std::string, std::vector<float>> tensors{{"a", {1.0f, 2.0f}}, {"b", {0.0f}}};
  std::map<std::string, std::vector<float>> sign = tensors, renamed = tensors;
  sign["b"][0] = -0.0f;
  renamed["c"] = renamed.extract("b").mapped();
  EXPECT_EQ(tensors_sha256(tensors), tensors_sha256(std::map(tensors)));
  EXPECT_NE(tensors_sha256(tensors), tensors_sha256(sign));
  EXPECT_NE(tensors_sha256(tensors), tensors_sha256(renamed));
}

TEST(Evidence, TheExecutableIsThisOne) { EXPECT_EQ(executable_sha256(), sha256_hex(read_file("/proc/self/exe"))); }

}  // namespace
}  // namespace lemnos
