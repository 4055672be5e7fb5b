#include "common/base/check.h"
#include "gpu/device/table_entries.h"
#include "gpu/kernels/row_rests.h"

namespace weir::gpu::entries {
namespace {

RawStoredRows RawOf(const kernels::StoredRows& rows) {
  return {rows.values.address(), rows.state.address(), rows.is_trained.address(), rows.dimension,
          rows.state_width};
}

RawRowNumbers RawOf(const kernels::RowNumbers& numbers) {
  return {numbers.numbers.address(), numbers.count};
}

}  // namespace

void InitializeRows(Stream& stream, const kernels::StoredRows& rows, int64_t begin, int64_t count,
                    uint64_t key, double bound, float state) {
  if (count == 0) return;
  Do(stream, "initialize_rows", [&](cudaStream_t to) {
    return gpu::InitializeRows(RawOf(rows), begin, count, key, bound, state, to);
  });
}

void ReadRows(Stream& stream, const kernels::StoredRows& rows, const kernels::RowNumbers& numbers,
              Pointer<float> to) {
  if (numbers.count == 0) return;
  Do(stream, "read_rows",
     [&](cudaStream_t in) { return gpu::ReadRows(RawOf(rows), RawOf(numbers), to.address(), in); });
}

void RestRows(Stream& stream, const kernels::UpdateStep& step, const kernels::StoredRows& rows,
              const kernels::RowNumbers& numbers, Pointer<const kernels::Rest> rests) {
  if (numbers.count == 0) return;
  Do(stream, "rest_rows", [&](cudaStream_t in) {
    return gpu::RestRows(step, RawOf(rows), RawOf(numbers), rests.address(), in);
  });
}

void ReadRestedRows(Stream& stream, const kernels::UpdateStep& step,
                    const kernels::StoredRows& rows, const kernels::RowNumbers& numbers,
                    Pointer<const kernels::Rest> rests, Pointer<float> to) {
  if (numbers.count == 0) return;
  Do(stream, "read_rested_rows", [&](cudaStream_t in) {
    return gpu::ReadRestedRows(step, RawOf(rows), RawOf(numbers), rests.address(), to.address(),
                               in);
  });
}

void UpdateRows(Stream& stream, const kernels::UpdateStep& step, const kernels::StoredRows& rows,
                const kernels::RowNumbers& numbers, Pointer<const float> gradients) {
  if (numbers.count == 0) return;
  Do(stream, "update_rows", [&](cudaStream_t to) {
    return gpu::UpdateRows(step, RawOf(rows), RawOf(numbers), gradients.address(), to);
  });
}

void UpdateDense(Stream& stream, const kernels::UpdateStep& step,
                 const ConstDeviceVector& gradients, const DeviceVector& values,
                 Pointer<float> moments) {
  CHECK_EQ(gradients.count, values.count);
  if (values.count == 0) return;
  Do(stream, "update_dense", [&](cudaStream_t to) {
    return gpu::UpdateDense(step, gradients.data.address(), gradients.count, values.data.address(),
                            moments.address(), to);
  });
}

void CopyRows(Stream& stream, Pointer<const float> from, const kernels::RowNumbers& numbers,
              int64_t width, const kernels::RowNumbers& to_numbers, Pointer<float> to) {
  CHECK_EQ(numbers.count, to_numbers.count);
  if (numbers.count == 0 || width == 0) return;
  Do(stream, "copy_rows", [&](cudaStream_t in) {
    return gpu::CopyRows(from.address(), RawOf(numbers), width, to_numbers.numbers.address(),
                         to.address(), in);
  });
}

void WriteRows(Stream& stream, Pointer<const float> from, const kernels::RowNumbers& numbers,
               int64_t width, Pointer<float> to) {
  if (numbers.count == 0 || width == 0) return;
  Do(stream, "write_rows", [&](cudaStream_t in) {
    return gpu::WriteRows(from.address(), RawOf(numbers), width, to.address(), in);
  });
}

}  // namespace weir::gpu::entries
