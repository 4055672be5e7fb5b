// A linear layer's parameters as the CPU's products want them: taken from the replica once a step,
// in both orders, in panels of columns that a tile reads from front to back.
//
// A panel holds kPanelWidth columns of a matrix [depth, columns], row after row; the last panel is
// as wide as what remains, rounded up to kVectorFloats with zeros. The forward panels are those of
// W^T [inputs, outputs], the backward panels those of W [outputs, inputs].
//
// Place in the life of a batch: replica -> **pack** -> forward, backward.
// Thread rule: values and pure functions; PackLinear reads what other threads may be writing
// (common/base/hogwild.h), so that nothing behind it does.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/kernels/views.h"

namespace weir::kernels::cpu {

inline constexpr int64_t kPanelWidth = 32;
inline constexpr int64_t kVectorFloats = 8;

inline int64_t RoundUpToVector(int64_t count) {
  return (count + kVectorFloats - 1) / kVectorFloats * kVectorFloats;
}

// The panels of one matrix, in memory that is not theirs.
struct Panels {
  int64_t depth = 0;
  int64_t column_count = 0;

  int64_t float_count() const { return depth * RoundUpToVector(column_count); }
  // Of the panel that begins at a column, with its padding: the distance between its rows.
  int64_t width(int64_t begin) const {
    return std::min(kPanelWidth, RoundUpToVector(column_count - begin));
  }
  int64_t offset(int64_t begin) const { return begin * depth; }
};

// Where in a packed layer its three parts are: bias, forward panels, backward panels.
struct PackedLayout {
  PackedLayout(int64_t outputs, int64_t inputs)
      : forward{inputs, outputs}, backward{outputs, inputs} {}

  int64_t forward_offset() const { return RoundUpToVector(forward.column_count); }
  int64_t backward_offset() const { return forward_offset() + forward.float_count(); }
  int64_t float_count() const { return backward_offset() + backward.float_count(); }

  Panels forward;
  Panels backward;
};

}  // namespace weir::kernels::cpu
