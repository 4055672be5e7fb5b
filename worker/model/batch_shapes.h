// Whether a batch fits a model; that it does not would be our mistake.
//
// Place in the life of a batch: cut batch -> **check** -> forward.
// Thread rule: pure function.
#pragma once

#include <cstddef>

#include "common/layout/model_layout.h"
#include "worker/data/batch.h"

namespace weir::model {

// row_element_count: room for so many elements of the batch's rows.
void CheckShapes(const ModelLayout& layout, const data::Batch& batch, size_t row_element_count);

}  // namespace weir::model
