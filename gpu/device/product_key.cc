// Our matrices are row-major, [rows, columns] of a stride: to the library a column-major matrix of
// columns rows, with that stride. So right comes first: to^T = right left^T, of which each factor
// is turned where, as a column-major one, it lies the other way. Where the result lies turned it is
// to = left right^T, and rows of the library's result are ours: features, along which its biases
// run. Hidden layers lie so for its epilogues.
#include "gpu/device/product_key.h"

#include <algorithm>
#include <bit>

namespace weir::gpu {
namespace {

constexpr uint32_t kSignsAlignment = 16;  // bytes
constexpr int64_t kBf16Vector = 8;        // numbers: rows begin at whole 16 bytes

uint32_t AlignmentOf(const void* address) {
  const auto bits = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(address));
  return uint32_t{1} << std::min(std::countr_zero(bits | PlanMatrix::kMostAlignment),
                                 std::countr_zero(uint64_t{PlanMatrix::kMostAlignment}));
}

template <typename Float>
PlanMatrix Described(const RawMatrix<Float>& matrix, bool is_turned) {
  return {matrix.column_count, matrix.row_count, matrix.stride, AlignmentOf(matrix.data),
          is_turned};
}

RawMatrix<uint16_t> RoundedShape(const RawMatrix<const float>& of) {
  return {nullptr, of.row_count, of.column_count,
          (of.column_count + kBf16Vector - 1) / kBf16Vector * kBf16Vector};
}

size_t BytesOf(const RawMatrix<uint16_t>& matrix) {
  return sizeof(uint16_t) * static_cast<size_t>(matrix.row_count * matrix.stride);
}

cublasLtEpilogue_t KindOf(const Product& product) {
  switch (product.ending.kind) {
    case Ending::Kind::kBias:
      return CUBLASLT_EPILOGUE_BIAS;
    case Ending::Kind::kBiasAndRelu:
      return CUBLASLT_EPILOGUE_RELU_AUX_BIAS;
    case Ending::Kind::kReluBackward:
      return CUBLASLT_EPILOGUE_DRELU;
    case Ending::Kind::kNone:
      break;
  }
  return SumsOnTheWay(product) ? CUBLASLT_EPILOGUE_BGRADB : CUBLASLT_EPILOGUE_DEFAULT;
}

}  // namespace

Operands OperandsOf(const Product& product) {
  if (product.is_turned) return {product.left, product.right};
  return {product.right, product.left};
}

Rounded::Rounded(const Operands& operands)
    : a(RoundedShape(operands.a.matrix)), b(RoundedShape(operands.b.matrix)) {}

size_t Rounded::b_offset() const {
  constexpr size_t kAlignment = PlanMatrix::kMostAlignment;
  return (BytesOf(a) + kAlignment - 1) / kAlignment * kAlignment;
}

size_t Rounded::byte_count() const { return b_offset() + BytesOf(b); }

PlanKey KeyOf(Factors factors, const Product& product, const PlanEpilogue& epilogue) {
  const auto [a, b] = OperandsOf(product);
  const auto described = [&](const RawMatrix<const float>& matrix, bool is_turned) {
    return factors == Factors::kBf16 ? Described(RoundedShape(matrix), is_turned)
                                     : Described(matrix, is_turned);
  };
  return {factors, described(a.matrix, !a.is_turned), described(b.matrix, b.is_turned),
          Described(product.to, false), epilogue};
}

bool SumsOnTheWay(const Product& product) {
  return product.left_sums != nullptr && product.left.is_turned && !product.adds;
}

const void* VectorOf(const Product& product) {
  return SumsOnTheWay(product) ? product.left_sums : product.ending.vector;
}

PlanEpilogue EpilogueOf(const Product& product) {
  const Ending& ending = product.ending;
  const bool has_signs = ending.signs != nullptr;
  if (has_signs && (AlignmentOf(ending.signs) < kSignsAlignment || ending.signs_stride % 4 != 0)) {
    return {};
  }
  const void* const vector = VectorOf(product);
  return {KindOf(product), vector == nullptr ? 0 : AlignmentOf(vector),
          has_signs ? AlignmentOf(ending.signs) : 0, has_signs ? 32 * ending.signs_stride : 0};
}

}  // namespace weir::gpu
