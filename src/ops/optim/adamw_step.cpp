#include <functional>

#include "base/error.h"
#include "graph/autodiff.h"
#include "ops/elementwise/constant.h"
#include "ops/loss/loss_sum.h"
#include "ops/optim/adamw.h"
#include "ops/optim/clip.h"
#include "ops/optim/step_params.h"

namespace lemnos {

void adamw_step(Builder& b, const std::vector<ValueId>& parameters,
                const std::function<bool(const Value&)>& decays) {
  b.section = Section::update;
  const ValueId step = b.input_once("step_f32", {kStepFloats}, DType::f32);
  std::vector<ValueId> gradients;
  for (const ValueId id : parameters)
    gradients.push_back(b.graph().by_name(gradient_name(b.graph()[id].name)));
  const ValueId coef = ops::clip_gradients(b, gradients, step).coef;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Value parameter = b.graph()[parameters[i]];  // a copy: adding states moves the values
    b.scope = parameter.name;
    const ValueId m = b.state_once("adam/m/" + parameter.name, parameter.type.shape);
    const ValueId v = b.state_once("adam/v/" + parameter.name, parameter.type.shape);
    ops::adamw(b, parameters[i], gradients[i], m, v, coef, step, decays(parameter));
  }
  b.scope.clear();
  b.section = Section::micro;
}

std::vector<ValueId> parameters_with_gradients(const Graph& graph) {
  std::vector<ValueId> found;
  for (const ValueId id : graph.of_kind(ValueKind::parameter))
    if (graph[id].trainable && graph.find(gradient_name(graph[id].name)).valid())
      found.push_back(id);
  return found;
}

void zero_gradients(Builder& b) {
  b.section = Section::zero;
  for (const ValueId id : b.graph().of_kind(ValueKind::state)) {
    const std::string& name = b.graph()[id].name;
    if (name.starts_with("grad/") || name == kLossSumName) ops::zero(b, id);
  }
  b.section = Section::micro;
}

}  // namespace lemnos
