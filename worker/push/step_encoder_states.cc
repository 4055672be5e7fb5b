// What of a step's layers and tables is saved with a model, and taken over from one.

#include <algorithm>
#include <string>
#include <vector>

#include "common/config/policy_rules.h"
#include "worker/push/step_encoder.h"

namespace weir::worker {

Status StepEncoder::SaveStates(const saved_model::TakeState& take) const {
  for (const auto& layer : layers_) {
    std::vector<float> residual;
    if (layer->is_on_device()) {
      WEIR_RETURN_IF_ERROR(selector_->ReadState(DeviceIndex(*layer), &residual));
    }
    v1::PolicyStateHeader header;
    Bytes state;
    layer->Save(residual, &header, &state);
    if (!state.empty()) WEIR_RETURN_IF_ERROR(take(header, state));
  }
  return rows_.SaveStates(take);
}

Result<bool> StepEncoder::LoadState(const v1::PolicyStateHeader& header, ByteSpan state) {
  const std::string& name = header.name();
  if (config::IsTable(name)) return rows_.LoadState(name, state);
  const auto found = std::ranges::find_if(
      layers_, [&](const auto& layer) { return layer->tensor().name == name; });
  if (found == layers_.end()) return false;
  std::vector<float> residual;
  WEIR_ASSIGN_OR_RETURN(const bool is_taken, (*found)->Load(header, state, &residual));
  if ((*found)->is_on_device()) {
    WEIR_RETURN_IF_ERROR(selector_->WriteState(DeviceIndex(**found), residual));
  }
  return is_taken;
}

}  // namespace weir::worker
