// What attention promises about bits: a segment's rows do not depend on their neighbours, and a
// sequence may come to a cache in any pieces.
#include <gtest/gtest.h>

#include "ops/attention/attention.h"
#include "ops/attention/attention_cached.h"
#include "ops/attention/tiles.h"
#include "support/op_harness.h"

namespace lemnos {
namespace {

constexpr int64_t kHeads = 4, kKvHeads = 2, kDepth = 16;
constexpr double kScale = 0.25;

struct Tokens {
  HostTensor q, k, v, grad_o;
};

Tokens random_tokens(int64_t n, uint64_t seed) {
  return {test::random_tensor({n, kHeads, kDepth}, seed, -2, 2),
          test::random_tensor({n, kKvHeads, kDepth}, seed + 1, -2, 2),
          test::random_tensor({n, kKvHeads, kDepth}, seed + 2),
          test::random_tensor({n, kHeads, kDepth}, seed + 3)};
}

HostTensor rows_of(const HostTensor& t, int64_t first, int64_t count) {
  const auto width = t.shape[1] * t.shape[2];
  return {{count, t.shape[1], t.shape[2]},
          {t.data.begin() + first * width, t.data.begin() + (first + count) * width}};
}

Tokens rows_of(const Tokens& t, int64_t first, int64_t count) {
  return {rows_of(t.q, first, count), rows_of(t.k, first, count), rows_of(t.v, first, count),
          rows_of(t.grad_o, first, count)};
}

/// o and the gradients of q, k and v.
std::vector<HostTensor> run_attention(const Tokens& t, const std::vector<int64_t>& segments,
                                      int64_t window, bool gpu_path) {
  Graph graph;
  Builder b(graph);
  const ValueId q = b.input("q", t.q.shape, DType::f32), k = b.input("k", t.k.shape, DType::f32),
                v = b.input("v", t.v.shape, DType::f32);
  const auto entries = attention_tile_count(t.q.shape[0], 5);
  const std::vector<int32_t> table = attention_tiles(segments, t.q.shape[0], entries);
  const ValueId tiles = b.input("tiles", {entries, 4}, DType::i32);
  const ValueId o = ops::attention(b, q, k, v, tiles, kScale, window);
  Autodiff autodiff(b, {q, k, v});
  autodiff.add(o, b.input("grad_o", t.grad_o.shape, DType::f32));
  autodiff.run();
  graph.results = {o, autodiff.gradient(q), autodiff.gradient(k), autodiff.gradient(v)};
  const std::vector<ValueId> results = graph.results;

  test::DeviceRun run(std::move(graph), gpu_path);
  run.set("q", t.q);
  run.set("k", t.k);
  run.set("v", t.v);
  run.set("grad_o", t.grad_o);
  run.set("tiles", {{entries, 4}, {table.begin(), table.end()}});
  run.run();
  std::vector<HostTensor> found;
  for (const ValueId id : results) found.push_back(run.get(id));
  return found;
}

class AttentionBits : public test::DeviceTest {
 protected:
  std::vector<bool> gpu_paths() {
    return device().cpu_path() ? std::vector<bool>{false, true} : std::vector<bool>{true};
  }
};

TEST_F(AttentionBits, APackedSegmentHasThoseOfTheSegmentAlone) {
  const std::vector<int64_t> segments{3, 70, 130, 1};
  const Tokens packed = random_tokens(204, 5);
  for (const bool gpu_path : gpu_paths())
    for (const int64_t window : {0, 40}) {
      const auto together = run_attention(packed, segments, window, gpu_path);
      int64_t first = 0;
      for (const int64_t length : segments) {
        const auto alone = run_attention(rows_of(packed, first, length), {length}, window, gpu_path);
        for (size_t i = 0; i < alone.size(); ++i)
          EXPECT_EQ(rows_of(together[i], first, length).data, alone[i].data)
              << "result " << i << " of " << length << " rows, gpu_path " << gpu_path;
        first += length;
      }
    }
}

/// Attention over a cache, the pieces one after the other.
HostTensor run_cached(const Tokens& t, const std::vector<int64_t>& pieces, int64_t window,
                      bool gpu_path) {
  HostTensor k_cache{{256, kKvHeads, kDepth}, std::vector<double>(256 * kKvHeads * kDepth, 9.0)};
  HostTensor v_cache = k_cache, o{{t.q.shape}, {}};
  int64_t length = 0;
  for (const int64_t n : pieces) {
    Graph graph;
    Builder b(graph);
    const ValueId q = b.input("q", {n, kHeads, kDepth}, DType::f32),
                  k = b.input("k", {n, kKvHeads, kDepth}, DType::f32),
                  v = b.input("v", {n, kKvHeads, kDepth}, DType::f32);
    const ValueId result = ops::attention_cached(
        b, q, k, v, b.state("k_cache", k_cache.shape), b.state("v_cache", v_cache.shape),
        b.input("cache_length", {1}, DType::i32), kScale, window);
    graph.results = {result};
    test::DeviceRun run(std::move(graph), gpu_path);
    run.set("q", rows_of(t.q, length, n));
    run.set("k", rows_of(t.k, length, n));
    run.set("v", rows_of(t.v, length, n));
    run.set("k_cache", k_cache);
    run.set("v_cache", v_cache);
    run.set("cache_length", {{1}, {static_cast<double>(length)}});
    run.run();
    const HostTensor piece = run.get(result);
    o.data.insert(o.data.end(), piece.data.begin(), piece.data.end());
    k_cache = run.get("k_cache");
    v_cache = run.get("v_cache");
    length += n;
  }
  return o;
}

TEST_F(AttentionBits, ACacheGivesThoseOfTheWholeSequence) {
  const Tokens tokens = random_tokens(140, 9);
  for (const bool gpu_path : gpu_paths())
    for (const int64_t window : {0, 40}) {
      const HostTensor whole = run_attention(tokens, {140}, window, gpu_path)[0];
      for (const std::vector<int64_t>& pieces :
           {std::vector<int64_t>{140}, {1, 1, 61, 1, 1, 70, 5}, {133, 7}})
        EXPECT_EQ(run_cached(tokens, pieces, window, gpu_path).data, whole.data)
            << pieces.size() << " pieces, window " << window << ", gpu_path " << gpu_path;
    }
}

TEST_F(AttentionBits, ACacheIsThatOfTheReference) {
  const Tokens tokens = random_tokens(9, 3);
  test::OpCase cached;
  cached.build = [](Builder& b) -> std::vector<ValueId> {
    return {ops::attention_cached(b, b.input("q", {9, kHeads, kDepth}, DType::f32),
                                  b.input("k", {9, kKvHeads, kDepth}, DType::f32),
                                  b.input("v", {9, kKvHeads, kDepth}, DType::f32),
                                  b.state("k_cache", {50, kKvHeads, kDepth}),
                                  b.state("v_cache", {50, kKvHeads, kDepth}),
                                  b.input("cache_length", {1}, DType::i32), kScale)};
  };
  cached.values = {{"q", tokens.q},
                   {"k", tokens.k},
                   {"v", tokens.v},
                   {"k_cache", test::random_tensor({50, kKvHeads, kDepth}, 11)},
                   {"v_cache", test::random_tensor({50, kKvHeads, kDepth}, 12)},
                   {"cache_length", {{1}, {30.0}}}};
  cached.states = {"k_cache", "v_cache"};
  check_op(cached);
}

}  // namespace
}  // namespace lemnos
