#include "ops/attention/attention_cached.h"

#include <algorithm>

#include "base/error.h"
#include "ops/attention/attention_append.params.h"
#include "ops/attention/forward.h"
#include "ops/attention/reference.h"
#include "ops/attention/tile_shape.h"
#include "ops/attention/tiles.h"

namespace lemnos {
namespace {

enum Input { kQ, kKNew, kVNew, kKCache, kVCache, kLength };
enum Output { kO, kStats, kKOut, kVOut };

std::vector<ValueType> infer(const InferContext& c) {
  const Shape &q = c[kQ].shape, &k = c[kKCache].shape, &v = c[kVCache].shape;
  check_attention_shapes(q, k, v);
  const int64_t n = q[0];
  LEMNOS_CHECK(c[kKNew].shape == (Shape{n, k[1], k[2]}) && c[kVNew].shape == (Shape{n, v[1], v[2]}),
               "attention of k {} over a cache {}", to_string(c[kKNew].shape), to_string(k));
  LEMNOS_CHECK(c[kLength].dtype == DType::i32);
  if (k[0] > kMaxAttentionSegment)
    fail(ErrorKind::unsupported, "a cache of {} tokens: attention handles at most {}", k[0],
         kMaxAttentionSegment);
  return {{{n, q[1], v[2]}, DType::f32}, {{n, q[1], 2}, DType::f32}, c[kKCache], c[kVCache]};
}

void append(const HostTensor& cache, const HostTensor& added, int64_t length, HostTensor& out) {
  LEMNOS_CHECK(length + added.shape[0] <= cache.shape[0], "{} tokens in a cache of {}",
               length + added.shape[0], cache.shape[0]);
  out.data = cache.data;
  std::copy(added.data.begin(), added.data.end(),
            out.data.begin() + length * cache.shape[1] * cache.shape[2]);
}

void reference(const ReferenceContext& c) {
  const HostTensor& q = c.in(kQ);
  const auto length = static_cast<int64_t>(c.in(kLength).data[0]);
  append(c.in(kKCache), c.in(kKNew), length, c.out(kKOut));
  append(c.in(kVCache), c.in(kVNew), length, c.out(kVOut));
  const HostTensor &k = c.out(kKOut), &v = c.out(kVOut);
  const int64_t group = q.shape[1] / k.shape[1];
  for (int64_t row = 0; row < q.shape[0]; ++row)
    for (int64_t head = 0; head < q.shape[1]; ++head)
      attention_output(attention_row(vector_at(q, row, head), k, head / group, length + row, 0,
                                     c.attrs.get_double("scale"), c.attrs.get_int("window")),
                       v, head / group, vector_at(c.out(kO), row, head),
                       vector_at(c.out(kStats), row, head));
}

KernelCall append_call(const DispatchContext& c, size_t added, size_t cache) {
  const Shape &from = c.shape_in(added), &to = c.shape_out(cache);
  AttentionAppendParams params{};
  params.count = static_cast<uint32_t>(element_count(from));
  params.width = static_cast<uint32_t>(from[1] * from[2]);
  params.capacity = static_cast<uint32_t>(to[0]);
  return kernel("attention_append", params, {c.in(added), c.out(cache), c.in(kLength)},
                flat_groups(element_count(from), 64));
}

std::vector<KernelCall> dispatch(const DispatchContext& c) {
  const Shape &q = c.shape_in(kQ), &k = c.shape_in(kKCache), &v = c.shape_in(kVCache);
  std::vector<KernelCall> calls{append_call(c, kKNew, kKOut), append_call(c, kVNew, kVOut)};
  calls[1].independent = true;
  TileShape shape = tile_shape({q[2], v[2], 1, 1}, c.device, q[0]);
  check_cpu_loops(shape, k[0]);
  constexpr uint32_t kCached = 1;
  shape.constants.push_back(kCached);
  calls.push_back(kernel(
      format("attention.{}", c.device.cpu_path ? "cpu" : "gpu"), attention_params(c, q, k),
      {c.in(kQ), c.out(kKOut), c.out(kVOut), c.out(kO), c.out(kStats), c.in(kLength)},
      group_grid((q[0] + shape.rows - 1) / shape.rows, q[1]), shape.constants));
  calls.back().texels = attention_texels(c, {c.node.inputs[kQ], c.node.outputs[kKOut], c.node.outputs[kVOut]});
  return calls;
}

}  // namespace

extern const OpDef kAttentionCachedOp;

const OpDef kAttentionCachedOp{.name = "attention_cached",
                               .infer = infer,
                               .reference = reference,
                               .grad = nullptr,
                               .dispatch = dispatch,
                               .inplace = {{kKOut, kKCache}, {kVOut, kVCache}}};

namespace ops {

ValueId attention_cached(Builder& b, ValueId q, ValueId k_new, ValueId v_new, ValueId k_cache,
                         ValueId v_cache, ValueId cache_length, double scale, int64_t window) {
  return b.emit1(kAttentionCachedOp, {q, k_new, v_new, k_cache, v_cache, cache_length},
                 {{"scale", scale}, {"window", window}});
}

}  // namespace ops
}  // namespace lemnos
