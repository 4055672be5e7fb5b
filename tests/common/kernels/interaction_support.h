// The shapes of an interaction.
#pragma once

#include <cstdint>

#include "common/kernels/kernel_table.h"

namespace weir::test {

struct PairShape {
  int64_t samples, vectors, dimension;
  kernels::Pairs pairs = kernels::Pairs::kDistinct;

  int64_t self() const { return pairs == kernels::Pairs::kWithSelf ? 1 : 0; }
  int64_t output_width() const {
    return dimension + vectors * (vectors - 1) / 2 + self() * vectors;
  }
};

}  // namespace weir::test
