#include "doctor/roles.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/philox.h"
#include "ops/attention/reference.h"
#include "ops/attention/tiles.h"
#include "ops/embed/embedding.h"
#include "ops/optim/step_params.h"

namespace lemnos::doctor {
namespace {

/// Different for each (index, use).
uint32_t draw(int64_t index, uint32_t use) { return philox4x32({static_cast<uint32_t>(index), use, 0, 0}, {17, 4})[0]; }

std::vector<double> indices(int64_t count, int64_t bound, uint32_t use) {
  std::vector<double> numbers;
  for (int64_t i = 0; i < count; ++i) numbers.push_back(static_cast<double>(draw(i, use) % static_cast<uint64_t>(bound)));
  return numbers;
}

std::vector<double> targets(int64_t count, int64_t vocabulary) {
  std::vector<double> numbers = indices(count, vocabulary, 1);
  for (size_t i = 3; i < numbers.size(); i += 7) numbers[i] = -1;
  return numbers;
}

StepParams step_params() {
  StepParams step;
  step.set_optimizer({}, 1e-3, 3, 1.0);
  step.set_loss_scale(7);
  step.set_seed(0x123456789abcdef);
  step.set_micro(2);
  return step;
}

template <typename Values>
std::vector<double> as_doubles(const Values& values) {
  return {values.begin(), values.end()};
}

/// Few different ids, so that some rows are added; every 13th row an id of its own.
EmbeddingOrder order_of(int64_t rows, int64_t vocabulary) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t among = i % 13 == 0 ? vocabulary : std::min<int64_t>(vocabulary, 1 + rows / 5);
    ids.push_back(static_cast<int32_t>(draw(i, 2) % static_cast<uint64_t>(among)));
  }
  return embedding_order(ids);
}

/// Rows of k different numbers below `count`, so that each k of a row differ.
std::vector<double> experts_of(int64_t tokens, int64_t k, int64_t count) {
  std::vector<double> experts;
  std::vector<int64_t> all(static_cast<size_t>(count));
  for (int64_t token = 0; token < tokens; ++token) {
    std::iota(all.begin(), all.end(), int64_t{0});
    for (int64_t j = 0; j < k; ++j) {
      const auto left = static_cast<uint64_t>(count - j);
      std::swap(all[static_cast<size_t>(j)], all[static_cast<size_t>(j) + draw(token * k + j, 3) % left]);
      experts.push_back(static_cast<double>(all[static_cast<size_t>(j)]));
    }
  }
  return experts;
}

struct Sorted {
  std::vector<double> order, rows;
};

/// A stable sort of the slots by expert, as ops/moe/moe_sort.h defines order and rows.
Sorted sort_slots(int64_t tokens, int64_t k) {
  const std::vector<double> experts = experts_of(tokens, k, k + 3);
  std::vector<size_t> order(experts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return experts[a] < experts[b]; });
  Sorted sorted{as_doubles(order), std::vector<double>(order.size())};
  std::vector<size_t> next(static_cast<size_t>(tokens), 0);
  for (size_t row = 0; row < order.size(); ++row) {
    const size_t token = order[row] / static_cast<size_t>(k);
    sorted.rows[token * static_cast<size_t>(k) + next[token]++] = static_cast<double>(row);
  }
  return sorted;
}

/// Uneven shares of the rows; the second expert has none.
std::vector<double> offsets_of(int64_t rows, int64_t experts) {
  std::vector<int64_t> shares(static_cast<size_t>(experts), 0);
  for (int64_t row = 0; row < rows; ++row) {
    const auto expert = static_cast<size_t>(draw(row, 4) % static_cast<uint64_t>(experts));
    ++shares[expert == 1 ? 0 : expert];
  }
  std::vector<double> offsets{0};
  for (const int64_t share : shares) offsets.push_back(offsets.back() + static_cast<double>(share));
  return offsets;
}

HostTensor whole(const InputValues& values) {
  HostTensor tensor{values.shape, {}};
  for (int64_t i = 0; i < element_count(values.shape); ++i) tensor.data.push_back(values.at(i));
  return tensor;
}

double in_f32(double x) { return static_cast<double>(static_cast<float>(x)); }

/// o or the statistics (maximum, 1 / sum) of attention's sampled rows. Others get an o of zero and
/// statistics under which every weight is nearly zero: their gradient is zero.
std::vector<double> attention_forward(const KernelCase& c, const std::vector<InputValues>& inputs, bool statistics) {
  const HostTensor q = whole(inputs[0]), k = whole(inputs[1]), v = whole(inputs[2]);
  HostTensor o{{q.shape[0], q.shape[1], v.shape[2]}, {}}, stats{{q.shape[0], q.shape[1], 2}, {}};
  o.data.resize(static_cast<size_t>(element_count(o.shape)));
  for (int64_t i = 0; i < q.shape[0] * q.shape[1]; ++i) stats.data.insert(stats.data.end(), {100.0, 1.0});
  const std::vector<double>& table = inputs[3].numbers;
  const double scale = c.attrs.get_double("scale");
  const int64_t window = c.attrs.get_int("window"), group = q.shape[1] / k.shape[1];
  for (const int64_t row : sampled_rows(c)) {
    int64_t segment = 0;
    for (size_t entry = 0; entry + 3 < table.size(); entry += 4)
      if (table[entry] <= static_cast<double>(row) && static_cast<double>(row) < table[entry] + table[entry + 1])
        segment = static_cast<int64_t>(table[entry + 2]);
    for (int64_t head = 0; head < q.shape[1]; ++head)
      attention_output(attention_row(vector_at(q, row, head), k, head / group, row, segment, scale, window), v, head / group,
                       vector_at(o, row, head), vector_at(stats, row, head));
  }
  std::vector<double>& made = statistics ? stats.data : o.data;
  for (double& x : made) x = in_f32(x);
  return std::move(made);
}

std::vector<double> gradient_in_sampled_rows(const KernelCase& c, const Shape& shape, const InputValues& random) {
  std::vector<double> numbers(static_cast<size_t>(element_count(shape)), 0.0);
  const int64_t width = shape[1] * shape[2];
  for (const int64_t row : sampled_rows(c))
    for (int64_t i = row * width; i < (row + 1) * width; ++i) numbers[static_cast<size_t>(i)] = random.at(i);
  return numbers;
}

/// moe_route of the logits: the k largest of each row, their softmax among themselves or among all.
std::vector<double> route(const KernelCase& c, const InputValues& logits, int64_t k, bool weights) {
  const int64_t tokens = logits.shape[0], count = logits.shape[1];
  std::vector<double> made;
  std::vector<int64_t> order(static_cast<size_t>(count));
  for (int64_t token = 0; token < tokens; ++token) {
    const auto logit = [&](int64_t e) { return logits.at(token * count + e); };
    std::iota(order.begin(), order.end(), int64_t{0});
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return logit(a) > logit(b); });
    const int64_t among = c.attrs.get_bool("norm_topk_prob") ? k : count;
    double sum = 0;
    for (int64_t j = 0; j < among; ++j) sum += std::exp(logit(order[static_cast<size_t>(j)]));
    for (int64_t j = 0; j < k; ++j) {
      const int64_t expert = order[static_cast<size_t>(j)];
      made.push_back(weights ? in_f32(std::exp(logit(expert)) / sum) : static_cast<double>(expert));
    }
  }
  return made;
}

}  // namespace

std::vector<int64_t> segments_of(const KernelCase& c) {
  const int64_t rows = c.sizes.at('m'), entries = c.sizes.at('w');
  int64_t count = 1;
  while (count < std::min<int64_t>(rows, 4) && attention_tile_count(rows, count + 1) <= entries) ++count;
  // The first takes most of the rows, the last are short.
  std::vector<int64_t> lengths;
  int64_t left = rows;
  for (int64_t i = 1; i < count; ++i) {
    lengths.push_back(std::max<int64_t>(1, left * 5 / 8));
    left -= lengths.back();
  }
  lengths.push_back(left);
  return lengths;
}

std::vector<double> numbers_for(const KernelCase& c, size_t i, const std::vector<InputValues>& inputs) {
  const TensorAxes& tensor = c.axes->inputs[i];
  const Shape shape = shape_of(tensor, c.sizes);
  const int64_t count = element_count(shape);
  const auto bound = [&] { return c.sizes.at(tensor.bound); };
  switch (tensor.role) {
    case Role::any:
    case Role::positive: return {};
    case Role::bound:
      return std::vector<double>(static_cast<size_t>(element_count(inputs[i].shape)), 1.0);
    case Role::clip_coef: return {0.75};
    case Role::loss_sum: return {3.25, 0x1p-26};
    case Role::row_number: {
      std::vector<double> numbers(static_cast<size_t>(count));
      std::iota(numbers.begin(), numbers.end(), 0.0);
      return numbers;
    }
    case Role::index: return indices(count, bound(), 0);
    case Role::target: return targets(count, bound());
    case Role::step_f32: return as_doubles(step_params().floats);
    case Role::step_i32: return as_doubles(step_params().ints);
    case Role::tiles: return as_doubles(attention_tiles(segments_of(c), c.sizes.at('m'), c.sizes.at('w')));
    case Role::embed_order: return as_doubles(order_of(count, bound()).order);
    case Role::embed_runs: return as_doubles(order_of(shape[0], bound()).runs);
    case Role::experts: return experts_of(shape[0], shape[1], bound());
    case Role::sort_order: return sort_slots(c.sizes.at('m'), c.sizes.at('k')).order;
    case Role::sort_rows: return sort_slots(shape[0], shape[1]).rows;
    case Role::sort_offsets: return offsets_of(inputs[0].shape[0], shape[0] - 1);
    case Role::attention_o: return attention_forward(c, inputs, false);
    case Role::attention_stats: return attention_forward(c, inputs, true);
    case Role::attention_do: return gradient_in_sampled_rows(c, shape, inputs[i]);
    case Role::route_weights: return route(c, inputs[0], shape[1], true);
    case Role::route_experts: return route(c, inputs[0], shape[1], false);
  }
  return {};
}

}  // namespace lemnos::doctor
