#pragma once

namespace lemnos {
enum StepFloat : int { kLossScale=0, kStepSize, kBias2Sqrt, kEps, kDecay, kOneMinusBeta1, kBeta2, kOneMinusBeta2, kMaxNorm, kStepFloats=16 };
enum StepInt : int { kSeedLo=0, kSeedHi, kStep, kMicro, kStepInts=16 };
}
