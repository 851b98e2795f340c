#include "ops/embed/embedding.h"

#include "support/op_harness.h"

namespace lemnos::test {
namespace {

HostTensor host(const Shape& shape, const std::vector<int32_t>& values) {
  return {shape, {values.begin(), values.end()}};
}

OpCase embedding_case(const std::vector<int32_t>& ids, int64_t vocabulary, int64_t width,
                      int64_t padding_idx) {
  const auto rows = static_cast<int64_t>(ids.size());
  const EmbeddingOrder order = embedding_order(ids);
  return {.build =
              [=](Builder& b) {
                const ValueId weight = b.parameter("w", {vocabulary, width}, DType::f32, true);
                const ValueId in = b.input("input_ids", {rows}, DType::i32);
                b.input("embed_order", {rows}, DType::i32);
                b.input("embed_rows", {rows, 3}, DType::i32);
                return std::vector{ops::embedding(b, weight, in, padding_idx)};
              },
          .values = {{"w", random_tensor({vocabulary, width}, 1)},
                     {"input_ids", host({rows}, ids)},
                     {"embed_order", host({rows}, order.order)},
                     {"embed_rows", host({rows, 3}, order.runs)}},
          .wanted = {"w"},
          .ulps = 2};
}

std::vector<int32_t> some_ids(int32_t count, int32_t vocabulary) {
  std::vector<int32_t> ids;
  for (int32_t i = 0; i < count; ++i) ids.push_back(i % 3 == 0 ? 1 : i * i % vocabulary);
  return ids;
}

TEST(EmbeddingOrder, SortsByIdThenRow) {
  const EmbeddingOrder order = embedding_order(std::vector<int32_t>{4, 0, 4, 2, 0, 4});
  EXPECT_EQ(order.order, (std::vector<int32_t>{1, 4, 3, 0, 2, 5}));
  EXPECT_EQ(order.runs,
            (std::vector<int32_t>{0, 0, 2, 2, 2, 3, 4, 3, 6, -1, -1, -1, -1, -1, -1, -1, -1, -1}));
  EXPECT_TRUE(embedding_order({}).order.empty());
}

class Embedding : public DeviceTest {};

TEST_F(Embedding, GathersAndSums) {
  OpCase small = embedding_case({3, 0, 3, 3, 5}, 6, 5, -1);
  small.finite_differences = true;
  check_op(small);
  check_op(embedding_case(some_ids(130, 40), 40, 96, -1));
  check_op(embedding_case(some_ids(700, 11), 11, 260, -1));
  check_op(embedding_case({2}, 3, 4, -1));
}

TEST_F(Embedding, ThePaddingRowGetsNoGradient) {
  OpCase test = embedding_case({3, 0, 3, 1, 0}, 4, 8, 0);
  check_op(test);
  Graph graph;
  Builder b(graph);
  const ValueId y = test.build(b)[0];
  Autodiff autodiff(b);
  autodiff.add(y, b.input("dy", graph.shape(y), DType::f32));
  autodiff.run();
  Interpreter run(graph);
  for (const auto& [name, tensor] : test.values) run.set(name, tensor);
  run.set("dy", random_tensor(graph.shape(y), 9, 1, 2));
  run.run();
  const HostTensor& gradient = run.get(gradient_name("w"));
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(gradient.data[i], 0);
  for (size_t i = 8; i < 16; ++i) EXPECT_GT(gradient.data[i], 0);
  for (size_t i = 16; i < 24; ++i) EXPECT_EQ(gradient.data[i], 0);
}

TEST_F(Embedding, FrozenWeightsInSixteenBits) {
  for (const DType dtype : {DType::f16, DType::bf16})
    for (const int64_t width : {12, 7}) {
      const HostTensor weight = narrow(random_tensor({9, width}, 5), dtype);
      check_op({.build =
                    [=](Builder& b) {
                      const ValueId w = b.parameter("w", {9, width}, dtype, false);
                      return std::vector{
                          ops::embedding(b, w, b.input("input_ids", {6}, DType::i32))};
                    },
                .values = {{"w", weight}, {"input_ids", host({6}, {8, 1, 1, 0, 7, 3})}},
                .ulps = 0});
    }
}

TEST_F(Embedding, AFrozenWeightsGradientStartsFromZero) {
  OpCase test = embedding_case(some_ids(30, 7), 7, 20, -1);
  test.build = [build = test.build](Builder& b) {
    auto outputs = build(b);
    b.graph()[b.graph().by_name("w")].trainable = false;
    return outputs;
  };
  check_op(test);
}

}  // namespace
}  // namespace lemnos::test
