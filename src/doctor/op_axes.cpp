#include "doctor/op_axes.h"

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "graph/op.h"

namespace lemnos::doctor {
namespace {

/// Tensors by ",", dimensions by " ". A dimension is a product ("2n", "mk"), with "+1" one more, with
/// "f+" behind f leading elements, or "*": whole inputs, each with an axis of its own. ":role" or
/// ":role(axis)" says what the numbers are; "_" is scratch memory. The last inputs may be missing.
struct Row {
  const char* op;
  const char* inputs;
  const char* outputs;
  const char* sampled;
  const char* attributes = "";  // "name=axis name=axis"
};

constexpr Row kRows[] = {
    {"linear", "m k, n k, n, m n, m :bound, n :bound, m r, n r", "m n, _", "mn"},
    {"linear_grad_input", "m k, k n, m n, m :bound, n :bound, m r, r n", "m n, _", "mn"},
    {"linear_grad_weight", "k m, k n, m n, m :bound, n :bound", "m n, _", "mn"},
    {"linear_grad_bias", "m n, n", "n, _", "n"},
    {"linear_rows", "f+m k, n k, n, f+m :bound, n :bound", "m n, _", "mn", "first=f count=m"},
    {"linear_rows_grad_weight", "k m, f+k n, m n, m :bound, n :bound", "m n, _", "mn", "first=f"},
    {"largest", "m n, m :positive, n :positive", "m, n", ""},
    {"largest_rows", "m n", "m", "m"},
    {"cross_entropy", "m v, f+m :target(v), 16 :step_f32", "m v, m", "m", "first=f"},
    {"cross_entropy_loss", "m v, f+m :target(v)", "m", "m", "first=f"},
    {"add_losses", "2 :loss_sum, m :positive", "2", ""},
    {"concat_rows", "* n", "? n", "n"},
    {"add", "m n, m n", "m n", "mn"},
    {"accumulate", "m n, m n", "m n", "mn"},
    {"scale", "m n", "m n", "mn"},
    {"zero", "m n", "m n", "mn"},
    {"swiglu", "m n, m n", "m n", "mn"},
    {"swiglu_grad", "m n, m n, m n", "m n, m n", "mn"},
    {"dropout", "m n, m :row_number, 16 :step_i32", "m n", "m"},
    {"embedding", "v n, m :index(v)", "m n", "mn"},
    {"embedding_grad", "m n, m :embed_order(v), m 3 :embed_runs(v), v n", "v n", "n", "vocabulary=v"},
    {"rms_norm", "m k, k", "m k, m", "m"},
    {"rms_norm_grad_input", "m k, m k, k, m :positive, m k", "m k", "m"},
    {"rms_norm_grad_weight", "m n, m n, m :positive, n", "n, _", "n"},
    {"rope", "m h d, m :index(t), t c, t c", "m h d", "mh"},
    {"attention", "m gq d, m g d, m g e, w 4 :tiles", "m gq e, m gq 2", "tiles"},
    {"attention_grad",
     "m gq d, m g d, m g e, w 4 :tiles, m gq e :attention_o, m gq 2 :attention_stats, m gq e :attention_do",
     "m gq d, m g d, m g e, m gq, _, _", "tiles"},
    {"moe_route", "m e", "m k, m k", "m", "k=k"},
    {"moe_route_grad", "m e, m k :route_weights, m k :route_experts, m k", "m e", "m"},
    {"moe_sort", "m k :experts(e)", "mk, e+1, m k, _", "", "expert_count=e"},
    {"moe_gather", "m n, mk :sort_order, m k :sort_rows", "mk n", "n"},
    {"moe_gather_grad", "mk n, m k :sort_rows", "m n", "n"},
    {"moe_combine", "mk n, m k, mk :sort_order, m k :sort_rows", "m n", "n"},
    {"moe_combine_grad", "m n, m k, mk :sort_order", "mk n", "n"},
    {"moe_combine_grad_weights", "mk n, m n, mk :sort_order", "m k", ""},
    {"grouped_linear", "m k, e n k, e+1 :sort_offsets", "m n, _", "n"},
    {"grouped_linear_grad_input", "m k, e k n, e+1 :sort_offsets", "m n, _", "n"},
    {"grouped_linear_grad_weight", "k m, k n, e+1 :sort_offsets, e m n", "e m n, _", "mn"},
    {"swiglu_fused", "m 2n", "m n", "m"},
    {"swiglu_fused_grad", "m 2n, m n", "m 2n", "m"},
    {"adamw", "m n, m n, m n, m n :positive, 1 :clip_coef, 16 :step_f32", "m n, m n, m n", "mn"},
    {"clip_gradients", "1, 1, 16 :step_f32, *", "1, 1, _", ""},
};

constexpr std::pair<std::string_view, Role> kRoles[] = {
    {"positive", Role::positive},       {"bound", Role::bound}, {"clip_coef", Role::clip_coef}, {"loss_sum", Role::loss_sum},
    {"row_number", Role::row_number},   {"index", Role::index},
    {"target", Role::target},           {"step_f32", Role::step_f32},
    {"step_i32", Role::step_i32},       {"tiles", Role::tiles},
    {"embed_order", Role::embed_order}, {"embed_runs", Role::embed_runs},
    {"experts", Role::experts},         {"sort_order", Role::sort_order},
    {"sort_offsets", Role::sort_offsets}, {"sort_rows", Role::sort_rows},
    {"route_weights", Role::route_weights}, {"route_experts", Role::route_experts},
    {"attention_o", Role::attention_o}, {"attention_stats", Role::attention_stats},
    {"attention_do", Role::attention_do},
};

std::vector<std::string> split(std::string_view text, char by) {
  std::vector<std::string> parts{""};
  for (const char c : text)
    if (c == by) parts.emplace_back();
    else parts.back() += c;
  std::erase(parts, "");
  return parts;
}

void set_role(TensorAxes& tensor, std::string_view word) {
  const size_t bracket = word.find('(');
  if (bracket != std::string_view::npos) tensor.bound = word[bracket + 1];
  const std::string_view name = word.substr(0, bracket);
  const auto* found = std::find_if(std::begin(kRoles), std::end(kRoles), [&](const auto& role) { return role.first == name; });
  LEMNOS_CHECK(found != std::end(kRoles), "no role is named {}", name);
  tensor.role = found->second;
}

Dim parse_dim(std::string_view word) {
  Dim dim;
  if (const size_t sum = word.find('+'); sum != std::string_view::npos) {
    if (std::isdigit(static_cast<unsigned char>(word[sum + 1])) != 0) {
      dim.plus = word[sum + 1] - '0';
      word = word.substr(0, sum);
    } else {
      dim.offset = word[0];
      word = word.substr(sum + 1);
    }
  }
  int64_t factor = 0;
  for (const char c : word)
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) factor = 10 * factor + (c - '0');
    else dim.axes += c;
  if (factor > 0) dim.factor = factor;
  return dim;
}

TensorAxes parse_tensor(std::string_view text) {
  TensorAxes tensor;
  for (const std::string& word : split(text, ' ')) {
    if (word == "_") tensor.compared = false;
    else if (word[0] == ':') set_role(tensor, std::string_view(word).substr(1));
    else tensor.dims.push_back(parse_dim(word));
  }
  return tensor;
}

std::vector<TensorAxes> parse_tensors(std::string_view text) {
  std::vector<TensorAxes> tensors;
  for (const std::string& part : split(text, ',')) tensors.push_back(parse_tensor(part));
  return tensors;
}

/// The last tensor of an op with any number of inputs stands for all that follow.
void repeat_last(OpAxes& axes, size_t inputs) {
  if (axes.inputs.empty() || axes.inputs.back().dims[0].axes != "*") return;
  const TensorAxes each = axes.inputs.back();
  axes.inputs.pop_back();
  for (char letter = 'A'; axes.inputs.size() < inputs; ++letter) {
    LEMNOS_CHECK(letter <= 'Z', "an op of {} inputs", inputs);
    axes.inputs.push_back(each);
    axes.inputs.back().dims[0].axes = std::string(1, letter);
  }
}

Shape folded(const Shape& shape, size_t rank) {
  Shape result(rank, 1);
  for (size_t i = 0; i < shape.size(); ++i) {
    const size_t from_end = shape.size() - 1 - i;
    result[from_end < rank ? rank - 1 - from_end : 0] *= shape[i];
  }
  return result;
}

/// Learns the one axis of a dimension that is not known yet.
bool solve(const Dim& dim, int64_t size, Sizes& sizes) {
  if (dim.offset != 0) return false;
  char unknown = 0;
  int64_t known = dim.factor;
  for (const char axis : dim.axes) {
    if (const auto found = sizes.find(axis); found != sizes.end()) known *= found->second;
    else if (unknown != 0) return false;
    else unknown = axis;
  }
  if (unknown == 0) return false;
  sizes[unknown] = (size - dim.plus) / std::max<int64_t>(1, known);
  return true;
}

}  // namespace

const OpAxes* find_axes(const Node& node, OpAxes& storage) {
  const auto* row = std::find_if(std::begin(kRows), std::end(kRows),
                                 [&](const Row& r) { return std::string_view(r.op) == node.op->name; });
  if (row == std::end(kRows)) return nullptr;
  storage = {parse_tensors(row->inputs), parse_tensors(row->outputs), row->sampled, {}, false};
  storage.by_tiles = storage.sampled == "tiles";
  if (storage.by_tiles) storage.sampled.clear();
  for (const std::string& pair : split(row->attributes, ' '))
    storage.attributes[pair.substr(0, pair.find('='))] = pair.back();
  repeat_last(storage, node.inputs.size());
  return &storage;
}

int64_t extent(const Dim& dim, const Sizes& sizes) {
  int64_t size = dim.factor;
  for (const char axis : dim.axes) size *= sizes.at(axis);
  return size + dim.plus + (dim.offset != 0 ? sizes.at(dim.offset) : 0);
}

Shape shape_of(const TensorAxes& tensor, const Sizes& sizes) {
  Shape shape;
  for (const Dim& dim : tensor.dims) shape.push_back(extent(dim, sizes));
  return shape;
}

Sizes sizes_of(const OpAxes& axes, const Graph& graph, const Node& node) {
  Sizes sizes;
  for (const auto& [name, axis] : axes.attributes) sizes[axis] = node.attrs.get_int(name);
  for (bool learned = true; learned;) {
    learned = false;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.inputs[i].valid()) continue;
      const std::vector<Dim>& dims = axes.inputs[i].dims;
      const Shape shape = folded(graph.shape(node.inputs[i]), dims.size());
      for (size_t d = 0; d < dims.size(); ++d) learned |= solve(dims[d], shape[d], sizes);
    }
  }
  return sizes;
}

Attrs attrs_with(const OpAxes& axes, const Attrs& attrs, const Sizes& sizes) {
  std::vector<std::pair<std::string, AttrValue>> items = attrs.items();
  for (auto& [name, value] : items)
    if (const auto found = axes.attributes.find(name); found != axes.attributes.end())
      value = sizes.at(found->second);
  return Attrs::of(std::move(items));
}

}  // namespace lemnos::doctor
