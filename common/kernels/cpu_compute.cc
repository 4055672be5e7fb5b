#include "common/base/check.h"
#include "common/device/cpu_device.h"
#include "common/kernels/compute.h"
#include "common/kernels/cpu_kernels.h"

namespace weir::kernels {
namespace {

using device::Pointer;

MatrixView HostOf(const DeviceMatrix& view) {
  DCHECK(!view.is_turned);
  return {view.data.address(), view.row_count, view.column_count, view.stride};
}
ConstMatrixView HostOf(const ConstDeviceMatrix& view) {
  DCHECK(!view.is_turned);
  return {view.data.address(), view.row_count, view.column_count, view.stride};
}
VectorView HostOf(const DeviceVector& view) { return {view.data.address(), view.count}; }
ConstVectorView HostOf(const ConstDeviceVector& view) { return {view.data.address(), view.count}; }
template <typename T>
T* HostOf(const Pointer<T>& pointer) {
  return pointer.address();
}
// What is the same on every device.
template <typename T>
const T& HostOf(const T& value) {
  return value;
}

// An entry of a host's table as one of a device whose memory is the host's.
template <const KernelTable& table(), auto host_entry, auto device_entry>
struct Entry;
template <const KernelTable& table(), auto host_entry, typename... Arguments,
          void (*DeviceKernels::*device_entry)(device::Stream&, Arguments...)>
struct Entry<table, host_entry, device_entry> {
  static void Call(device::Stream&, Arguments... arguments) {
    (table().*host_entry)(HostOf(arguments)...);
  }
};

#define WEIR_ENTRY(name) .name = Entry<table, &KernelTable::name, &DeviceKernels::name>::Call

template <const KernelTable& table()>
constexpr DeviceKernels kOnCpu{
    WEIR_ENTRY(linear_forward),
    WEIR_ENTRY(linear_backward_data),
    WEIR_ENTRY(linear_backward_weight),
    WEIR_ENTRY(linear_backward_squares),
    WEIR_ENTRY(bias_backward_squares),
    WEIR_ENTRY(transpose),
    WEIR_ENTRY(relu_backward),
    WEIR_ENTRY(sigmoid_forward),
    WEIR_ENTRY(sigmoid_backward),
    WEIR_ENTRY(pool_tables),
    WEIR_ENTRY(scatter_tables),
    WEIR_ENTRY(interaction_forward),
    WEIR_ENTRY(interaction_backward),
    WEIR_ENTRY(sigmoid),
    WEIR_ENTRY(loss),
    WEIR_ENTRY(clip_norm),
    WEIR_ENTRY(add_squares),
    WEIR_ENTRY(write_values),
    WEIR_ENTRY(note_not_finite),
    WEIR_ENTRY(mark_nonzero),
};

#undef WEIR_ENTRY

// So many rows that what one layer gives is in the second-level cache when the next one takes it.
constexpr int64_t kSliceRows = 128;

// Sums of squares estimate noise, for which 8 bits of each factor are enough: where there are fast
// units, they are multiplied in bfloat16, in half the time.
const DeviceKernels& F32Kernels() {
  static const DeviceKernels with_bf16_squares = [] {
    DeviceKernels kernels = kOnCpu<CpuKernels>;
    kernels.linear_backward_squares = kOnCpu<CpuBf16Kernels>.linear_backward_squares;
    return kernels;
  }();
  return CpuIsFasterInBf16() ? with_bf16_squares : kOnCpu<CpuKernels>;
}

}  // namespace

Compute CpuCompute(Precision precision) {
  return {.device = &device::CpuDevice(),
          .kernels = precision == Precision::kBf16 ? &kOnCpu<CpuBf16Kernels> : &F32Kernels(),
          .slice_rows = kSliceRows};
}

}  // namespace weir::kernels
