#include "worker/model/finite.h"

#include <algorithm>
#include <span>
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
  for (int64_t r = 0; r < matrix.row_count; ++r) {
    if (!AllFinite(stream, {matrix.row(r), static_cast<size_t>(matrix.column_count)})) return false;
  }
  return true;
}

}  // namespace weir::model
