// What of a step's layers and tables is saved with a model, and taken over from one.

#include <algorithm>
#include <string>
#include <vector>

#include "common/config/policy_rules.h"
#include "worker/push/step_encoder.h"

namespace weir::worker {

Status StepEncoder::ReadFromDevice(const LayerEncoder& layer, std::vector<float>* residual) const {
  size_t number = 0;
  if (const auto* const agreed = agreeing_.FindOnDevice(layer, &number)) {
    return agreed->ReadState(number, residual);
  }
  return selector_->ReadState(DeviceIndex(layer), residual);
}

Status StepEncoder::WriteToDevice(const LayerEncoder& layer,
                                  std::span<const float> residual) const {
  size_t number = 0;
  if (const auto* const agreed = agreeing_.FindOnDevice(layer, &number)) {
    return agreed->WriteState(number, residual);
  }
  return selector_->WriteState(DeviceIndex(layer), residual);
}

Status StepEncoder::SaveStates(const saved_model::TakeState& take) const {
  for (const auto& layer : layers_) {
    std::vector<float> residual;
    if (layer->is_on_device()) WEIR_RETURN_IF_ERROR(ReadFromDevice(*layer, &residual));
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
  if ((*found)->is_on_device()) WEIR_RETURN_IF_ERROR(WriteToDevice(**found, residual));
  return is_taken;
}

}  // namespace weir::worker
