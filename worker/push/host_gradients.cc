#include "worker/push/host_gradients.h"

#include "common/base/check.h"
#include "common/device/cpu_device.h"

namespace weir::worker {

Result<std::span<const float>> HostGradients::Fetch(device::Device& device, device::Stream* stream,
                                                    device::Span<const float> gradients,
                                                    std::span<const TensorSpec* const> tensors) {
  if (device.is_host()) return device::OnHost(gradients);
  CHECK(stream != nullptr);
  if (copy_.size() < gradients.size) {
    copy_ = device::PinnedBuffer<float>(device, gradients.size, "gradients on the host");
  }
  const std::span<float> host = copy_.span().first(gradients.size);
  for (const TensorSpec* const tensor : tensors) {
    const auto offset = static_cast<size_t>(tensor->offset);
    const auto count = static_cast<size_t>(tensor->element_count());
    stream->CopyToHost(gradients.subspan(offset, count), host.subspan(offset, count));
  }
  WEIR_RETURN_IF_ERROR(stream->Synchronize());
  return std::span<const float>(host);
}

}  // namespace weir::worker
