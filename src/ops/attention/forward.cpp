#include "ops/attention/forward.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "ops/attention/tiles.h"

namespace lemnos {
namespace {

constexpr int64_t kMaxDepth = 256;
constexpr int64_t kMaxGroups = 65535;
constexpr int64_t kMaxElements = std::numeric_limits<uint32_t>::max();  // of a kernel's index

}  // namespace

void check_attention_shapes(const Shape& q, const Shape& k, const Shape& v) {
  LEMNOS_CHECK(q.size() == 3 && k.size() == 3 && v.size() == 3);
  LEMNOS_CHECK(q[2] == k[2] && k[0] == v[0] && k[1] == v[1] && q[1] % k[1] == 0,
               "attention of q {}, k {}, v {}", to_string(q), to_string(k), to_string(v));
  if (std::max(q[2], v[2]) > kMaxDepth)
    fail(ErrorKind::unsupported, "attention heads of {} elements: at most {} are supported",
         std::max(q[2], v[2]), kMaxDepth);
  for (const Shape* shape : {&q, &k, &v})
    if (element_count(*shape) > kMaxElements)
      fail(ErrorKind::unsupported, "attention over {}: at most {} elements are supported; lower per_device_train_batch_size or max_length",
           to_string(*shape), kMaxElements);
}

void check_cpu_loops(const TileShape& shape, int64_t rows) {
  LEMNOS_CHECK(cpu_column_tiles(rows) * shape.loops_per_tile <= kCpuLoopLimit);
}

uint32_t window_of(const Attrs& attrs) {
  constexpr int64_t kEndless = std::numeric_limits<int32_t>::max();
  const int64_t window = attrs.get_int("window");
  return static_cast<uint32_t>(window > 0 ? std::min(window, kEndless) : kEndless);
}

AttentionParams attention_params(const DispatchContext& c, const Shape& q, const Shape& k) {
  AttentionParams params{};
  params.heads = static_cast<uint32_t>(q[1]);
  params.kv_heads = static_cast<uint32_t>(k[1]);
  params.rows = static_cast<uint32_t>(q[0]);
  params.window = window_of(c.node.attrs);
  params.scale = static_cast<float>(c.node.attrs.get_double("scale"));
  return params;
}

bool on_matrix_units(const Builder& b, int64_t depth, int64_t depth_v) {
  constexpr int64_t kWholeTile = 64;
  return b.split_gemm == SplitGemm::always || (b.split_gemm == SplitGemm::large && std::min(depth, depth_v) >= kWholeTile);
}

std::string kernel_name(const char* stem, const DispatchContext& c) {
  return std::string(stem) + (c.node.attrs.get_bool("split") ? ".split" : c.device.cpu_path ? ".cpu" : ".gpu");
}

std::vector<TexelInput> attention_texels(const DispatchContext& c, std::initializer_list<ValueId> values) {
  std::vector<TexelInput> texels;
  if (!c.device.cpu_path) return texels;
  for (const ValueId id : values) {
    const int64_t count = (c.graph.bytes(id) + 15) / 16;
    LEMNOS_CHECK(count <= kMostTexels, "attention over {}", to_string(c.graph.shape(id)));
    texels.push_back({{id}, count * 16});
  }
  return texels;
}

TileShape kernel_tile(const TileWork& work, const DispatchContext& c) {
  return c.node.attrs.get_bool("split") ? split_tile_shape(work) : tile_shape(work, c.device);
}

std::array<uint32_t, 3> group_grid(int64_t x, int64_t y) {
  LEMNOS_CHECK(x <= kMaxGroups && y <= kMaxGroups, "{} x {} groups", x, y);
  return {static_cast<uint32_t>(x), static_cast<uint32_t>(y), 1};
}

double attention_flops(const Graph& graph, const Node& node, int64_t depth, int64_t depth_v,
                       int products, int products_v) {
  const Shape& q = graph.shape(node.inputs[0]);
  const int64_t window = node.attrs.get_int("window");
  const auto keys = static_cast<double>(window > 0 ? std::min(window, q[0]) : (q[0] + 1) / 2);
  const auto work = static_cast<double>(products * depth + products_v * depth_v);
  return 2.0 * static_cast<double>(q[0] * q[1]) * keys * work;
}

}  // namespace lemnos
