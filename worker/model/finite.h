// Looks for NaN and infinity, to say where a diverged run went wrong. Used on the failure path
// only.
//
// Place in the life of a batch: after the loss, when that is not finite.
// Thread rule: any thread; the floats may be replica weights that are written meanwhile
// (common/base/hogwild.h).
#pragma once

#include "common/device/device.h"
#include "common/kernels/views.h"

namespace weir::model {

// They wait for what the stream has to do. What cannot be copied from the device counts as finite.
bool AllFinite(device::Stream& stream, device::Span<const float> values);
bool AllFinite(device::Stream& stream, const kernels::ConstDeviceMatrix& matrix);

}  // namespace weir::model
