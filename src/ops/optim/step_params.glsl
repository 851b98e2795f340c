// The slots of step_f32, as in step_params.h.
const uint kLossScale = 0;
const uint kStepSize = 1;
const uint kBias2Sqrt = 2;
const uint kEps = 3;
const uint kDecay = 4;
const uint kOneMinusBeta1 = 5;
const uint kBeta2 = 6;
const uint kOneMinusBeta2 = 7;
const uint kMaxNorm = 8;
