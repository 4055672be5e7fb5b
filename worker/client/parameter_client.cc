// What a client does not do that does not say that it does.

#include "worker/client/parameter_client.h"

#include "common/base/check.h"

namespace weir::worker {

Status ParameterClient::AwaitRowsOnDevice(RowPull* /*pull*/, device::Stream& /*stream*/,
                                          device::Span<float> /*rows*/) {
  LOG(FATAL) << "this client has no rows on the device";
  return OkStatus();
}

Result<std::optional<saved_model::KeptStates>> ParameterClient::PutAside(uint64_t /*checkpoint*/) {
  LOG(FATAL) << "this client has no checkpoints";
  return std::optional<saved_model::KeptStates>();
}

}  // namespace weir::worker
