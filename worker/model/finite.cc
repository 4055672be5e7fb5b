#include "worker/model/finite.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "common/base/hogwild.h"

namespace weir::model {
namespace {

WEIR_HOGWILD bool AllFinite(std::span<const float> values) {
  return std::ranges::all_of(values, [](float value) { return __builtin_isfinite(value); });
}

}  // namespace

bool AllFinite(device::Stream& stream, device::Span<const float> values) {
  std::vector<float> copy(values.size);
  stream.CopyToHost(values, std::span(copy));
  return !stream.Synchronize().ok() || AllFinite(copy);
}

bool AllFinite(device::Stream& stream, const kernels::ConstDeviceMatrix& matrix) {
  const auto [rows, length] = matrix.is_turned ? std::pair(matrix.column_count, matrix.row_count)
                                               : std::pair(matrix.row_count, matrix.column_count);
  for (int64_t r = 0; r < rows; ++r) {
    if (!AllFinite(stream, {matrix.row(r), static_cast<size_t>(length)})) return false;
  }
  return true;
}

std::string FirstNonFiniteTensor(device::Stream& stream, std::span<const TensorSpec> tensors,
                                 device::Pointer<const float> flat) {
  for (const TensorSpec& tensor : tensors) {
    const auto count = static_cast<size_t>(tensor.element_count());
    if (!AllFinite(stream, {flat + tensor.offset, count})) return tensor.name;
  }
  return "";
}

void FiniteWatch::Look(device::Stream& stream,
                       std::initializer_list<device::Span<const float>> values) const {
  stream.Zero(sum_.device());
  for (const device::Span<const float>& of : values) {
    kernels_->note_not_finite(stream, {of.data, static_cast<int64_t>(of.size)}, sum_.device().data);
  }
  sum_.Download(stream, 1);
}

Result<bool> FiniteWatch::AreFinite(device::Stream& stream) const {
  WEIR_RETURN_IF_ERROR(stream.Synchronize());
  return std::isfinite(sum_.host().front());
}

}  // namespace weir::model
