// Looks for NaN and infinity, to say where a diverged run went wrong. Used on the failure path
// only.
//
// Place in the life of a batch: after the loss, when that is not finite.
// Thread rule: any thread; the floats may be replica weights that are written meanwhile
// (common/base/hogwild.h).
#pragma once

#include <cstdint>

#include "common/kernels/views.h"

namespace weir::model {

bool AllFinite(const float* values, int64_t count);
bool AllFinite(const kernels::ConstMatrixView& matrix);

}  // namespace weir::model
