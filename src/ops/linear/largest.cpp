#include "ops/linear/largest.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ops/elementwise/fill.params.h"
#include "ops/linear/gemm.h"
#include "ops/linear/largest.params.h"
#include "ops/linear/largest_rows.params.h"
#include "ops/rows.h"

namespace lemnos {
namespace {

constexpr int64_t kGroupColumns = 256;

uint32_t groups_of(int64_t count, int64_t size) { return static_cast<uint32_t>((count + size - 1) / size); }

KernelCall zero(BufferRef x, int64_t count) {
  FillParams params{};
  params.count = kernel_count(count);
  return kernel("fill", params, {x}, flat_groups((count + 3) / 4, 64));
}

/// Few enough workgroups that they do not meet at the same columns all the time, enough to fill a GPU.
int64_t rows_of_group(int64_t m, int64_t n) {
  const int64_t wanted = m * groups_of(n, kGroupColumns) / 1024;
  return std::clamp<int64_t>((wanted + 31) / 32 * 32, 32, 2048);
}

// Inputs x and, in Section::once, the states that keep the result.
std::vector<ValueType> infer(const InferContext& c) {
  return {{{rows_of(c[0].shape)}, DType::f32}, {{width_of(c[0].shape)}, DType::f32}};
}

void reference(const ReferenceContext& c) {
  const HostTensor& x = c.in(0);
  const auto width = static_cast<size_t>(width_of(x.shape));
  for (size_t i = 0; i < x.data.size(); ++i) {
    double &of_row = c.out(0).data[i / width], &of_column = c.out(1).data[i % width];
    of_row = std::max(of_row, std::abs(x.data[i]));
    of_column = std::max(of_column, std::abs(x.data[i]));
  }
}

/// The rows' alone: no columns to meet at, so nothing to zero.
std::vector<ValueType> infer_rows(const InferContext& c) { return {{{rows_of(c[0].shape)}, DType::f32}}; }

void reference_rows(const ReferenceContext& c) {
  const HostTensor& x = c.in(0);
  const auto width = static_cast<size_t>(width_of(x.shape));
  for (size_t i = 0; i < x.data.size(); ++i) {
    double& of_row = c.out(0).data[i / width];
    of_row = std::max(of_row, std::abs(x.data[i]));
  }
}

std::vector<KernelCall> dispatch_rows(const DispatchContext& c) {
  const Shape& x = c.shape_in(0);
  const int64_t width = width_of(x);
  uint32_t lanes = 32;
  while (lanes < 256 && lanes * 8 < width) lanes *= 2;
  LargestRowsParams params{};
  params.rows = kernel_count(rows_of(x));
  params.width = kernel_count(width);
  kernel_count(x);
  return {kernel("largest_rows", params, {c.in(0), c.out(0)}, flat_groups(params.rows, 256 / lanes),
                 {lanes, width_by_4(width)})};
}

std::vector<KernelCall> dispatch(const DispatchContext& c) {
  const Shape& x = c.shape_in(0);
  return largest_magnitudes(rows_of(x), width_of(x), c.graph.dtype(c.node.inputs[0]), c.in(0), c.out(0), c.out(1));
}

}  // namespace

std::vector<KernelCall> largest_magnitudes(int64_t m, int64_t n, DType dtype, BufferRef x, BufferRef of_rows,
                                           BufferRef of_columns) {
  LargestParams params{};
  params.rows = kernel_count(m);
  params.columns = kernel_count(n);
  params.rows_of_group = kernel_count(rows_of_group(m, n));
  kernel_count(m * n);
  const bool vec = n % 4 == 0 && x.byte_offset % 16 == 0;
  std::vector<KernelCall> calls = {zero(of_rows, m), zero(of_columns, n)};
  calls[1].independent = true;
  calls.push_back(kernel(format("largest.{}", name_of(dtype)), params, {x, of_rows, of_columns},
                         {groups_of(n, kGroupColumns), groups_of(m, params.rows_of_group), 1}, {vec}));
  return calls;
}

extern const OpDef kLargestOp;
extern const OpDef kLargestRowsOp;
const OpDef kLargestRowsOp{.name = "largest_rows",
                           .infer = infer_rows,
                           .reference = reference_rows,
                           .grad = nullptr,
                           .dispatch = dispatch_rows};
const OpDef kLargestOp{.name = "largest",
                       .infer = infer,
                       .reference = reference,
                       .grad = nullptr,
                       .dispatch = dispatch,
                       .inplace = {{0, 1}, {1, 2}}};

namespace {

/// A frozen weight's, found once and kept.
std::vector<ValueId> of_frozen(Builder& b, ValueId x) {
  const std::string name = "largest/" + b.graph()[x].name;
  const ValueId rows = b.state_once(name + "/rows", {rows_of(b.shape(x))});
  const ValueId columns = b.state_once(name + "/columns", {width_of(b.shape(x))});
  const Section before = std::exchange(b.section, Section::once);
  const std::vector<ValueId> made = b.emit_once(kLargestOp, {x, rows, columns});
  b.section = before;
  return made;
}

bool is_frozen(const Value& value) { return value.kind == ValueKind::parameter && !value.trainable; }

}  // namespace

namespace ops {

Largest largest(Builder& b, ValueId x) {
  const std::vector<ValueId> made = is_frozen(b.graph()[x]) ? of_frozen(b, x) : b.emit_once(kLargestOp, {x});
  return {made[0], made[1]};
}

Scales split_scales(Builder& b, GemmLayout layout, ValueId left, ValueId right) {
  const int64_t rows = layout == GemmLayout::tn ? width_of(b.shape(left)) : b.shape(right)[0];
  const int64_t columns = width_of(b.shape(right));
  const bool large = rows >= 64 && columns >= 64 && rows * columns >= 65536;
  if (b.split_gemm == SplitGemm::never || (b.split_gemm == SplitGemm::large && !large)) return {};
  return {layout == GemmLayout::tn ? largest(b, left).of_columns : largest(b, left).of_rows,
          layout == GemmLayout::nt ? largest(b, right).of_rows : largest(b, right).of_columns};
}

}  // namespace ops
}  // namespace lemnos
