#include "common/base/check.h"
#include "gpu/device/table_entries.h"
#include "gpu/kernels/split.h"

namespace weir::gpu::entries {

void ChooseLargest(Stream& stream, const ConstDeviceMatrix& block, int64_t keep,
                   int64_t part_samples, const kernels::ChosenView& chosen) {
  CHECK_GE(keep, 1);
  CHECK_LE(keep, block.row_count);
  CHECK_GT(part_samples, 0);
  if (IsEmpty(block)) return;
  const RawChosen to{chosen.ends.address(), chosen.positions.address(), chosen.values.address(),
                     chosen.thresholds.address()};
  DoWithScratch(stream, "choose_largest", ChooseScratchBytes(Raw(block), part_samples),
                [&](void* scratch, cudaStream_t in) {
                  return gpu::ChooseLargest(Raw(block), keep, part_samples, to, scratch, in);
                });
}

void GatherValues(Stream& stream, Pointer<const float> from, Pointer<const uint32_t> indexes,
                  const DeviceVector& to) {
  if (to.count == 0) return;
  Do(stream, "gather_values", [&](cudaStream_t in) {
    return gpu::GatherValues(from.address(), indexes.address(), to.count, to.data.address(), in);
  });
}

}  // namespace weir::gpu::entries
