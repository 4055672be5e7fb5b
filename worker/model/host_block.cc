#include "worker/model/host_block.h"

#include "common/device/cpu_device.h"

namespace weir::model {
namespace {

// A block is a whole buffer's: its rows lie one after the other.
size_t FloatCount(const kernels::DeviceMatrix& block) {
  return static_cast<size_t>(block.row_count * block.stride);
}

device::Span<float> SpanOf(const kernels::DeviceMatrix& block) {
  return {block.data, FloatCount(block)};
}

}  // namespace

kernels::MatrixView HostBlock::Room(const kernels::DeviceMatrix& block) {
  float* data = nullptr;
  if (device_->is_host()) {
    data = device::OnHost(block.data);
  } else {
    const size_t count = FloatCount(block);
    if (copy_.size() < count) copy_ = device::PinnedBuffer<float>(*device_, count, "a split");
    data = copy_.span().data();
  }
  return {data, block.row_count, block.column_count, block.stride};
}

Result<kernels::ConstMatrixView> HostBlock::Read(device::Stream& stream,
                                                 const kernels::DeviceMatrix& block) {
  const kernels::MatrixView room = Room(block);
  if (device_->is_host()) return kernels::ConstMatrixView(room);
  stream.CopyToHost<float>(SpanOf(block), copy_.span().first(FloatCount(block)));
  WEIR_RETURN_IF_ERROR(stream.Synchronize());
  return kernels::ConstMatrixView(room);
}

Status HostBlock::Write(device::Stream& stream, const kernels::DeviceMatrix& block) {
  if (device_->is_host()) return OkStatus();
  stream.CopyToDevice<float>(copy_.span().first(FloatCount(block)), SpanOf(block));
  return stream.Synchronize();
}

}  // namespace weir::model
