// What parameters are before the first step: a function of (seed, tensor, index) or of (seed,
// table, id), so that nothing depends on who has them or when they are asked for.
//
// Thread rule: any thread.
#pragma once

#include <cstdint>
#include <span>

#include "common/layout/model_shape.h"

namespace weir {

// Initial value of one element of a dense tensor.
float InitialDenseValue(uint64_t seed, const TensorSpec& tensor, int64_t index);

// Initial values of one row, uniform in +-1/sqrt(rows of the table), as in facebookresearch/dlrm.
void InitialRowValues(uint64_t seed, const TableSpec& table, uint64_t id, std::span<float> row);

}  // namespace weir
