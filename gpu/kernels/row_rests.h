// What rows did in steps without a gradient; contracts are in common/kernels/update_table.h.
// Nothing is empty.
#pragma once

#include "common/kernels/rest.h"
#include "gpu/kernels/updates.h"

namespace weir::gpu {

cudaError_t RestRows(const kernels::UpdateStep& step, const RawStoredRows& rows,
                     const RawRowNumbers& numbers, const kernels::Rest* rests, cudaStream_t stream);
cudaError_t ReadRestedRows(const kernels::UpdateStep& step, const RawStoredRows& rows,
                           const RawRowNumbers& numbers, const kernels::Rest* rests, float* to,
                           cudaStream_t stream);

}  // namespace weir::gpu
