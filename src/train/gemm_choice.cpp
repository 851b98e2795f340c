#include "train/gemm_choice.h"

#include "base/error.h"

namespace lemnos {

GemmChoice gemm_choice(std::string_view name) {
  if (name == "auto") return GemmChoice::automatic;
  if (name == "fma") return GemmChoice::fma;
  if (name == "split") return GemmChoice::split;
  fail(ErrorKind::usage, "gemm is auto, fma or split, not \"{}\"", name);
}

const char* name_of(GemmChoice choice) {
  return choice == GemmChoice::fma ? "fma" : choice == GemmChoice::split ? "split" : "auto";
}

SplitGemm split_gemm(GemmChoice choice, const DeviceProfile& device) {
  if (choice == GemmChoice::split && !device.split_gemm)
    fail(ErrorKind::unsupported,
         "gemm: split needs matrix units (VK_KHR_cooperative_matrix, 16x16x16, f16 to f32, subgroups of 32) and a build whose "
         "shader compiler knows them; \"{}\" with this build is without (`lemnos devices`); use auto or fma",
         device.name);
  if (choice == GemmChoice::fma || !device.split_gemm) return SplitGemm::never;
  return choice == GemmChoice::split ? SplitGemm::always : SplitGemm::large;
}

}  // namespace lemnos
