// What policies remember of a run, from one saved model to the next.

#include <utility>

#include "common/base/check.h"
#include "common/saved_model/policy_states.h"
#include "worker/client/server_client.h"

namespace weir::worker {

Status ServerClient::ReadPolicyStates(const saved_model::SavedModel& model) {
  return saved_model::VisitPolicyStates(
      model.residuals_folder(), trainer(), model.manifest().run(),
      [this](const v1::PolicyStateHeader& header, ByteSpan state) {
        read_states_.emplace_back(header, Bytes(state.begin(), state.end()));
        return OkStatus();
      });
}

Status ServerClient::LoadPolicyStates() {
  const auto states = std::exchange(read_states_, {});
  if (states.empty()) return OkStatus();
  if (link_.incarnation() > 1) {
    LOG(INFO) << "was started again: begins with nothing kept";
    return OkStatus();
  }
  size_t count = 0;
  for (const auto& [header, state] : states) {
    WEIR_ASSIGN_OR_RETURN(const bool is_taken, encoder_.LoadState(header, state));
    count += is_taken ? 1 : 0;
  }
  LOG(INFO) << "goes on with what was kept of " << count << " layers and tables";
  return OkStatus();
}

// The servers' answers say that they have begun.
Result<std::optional<saved_model::KeptStates>> ServerClient::PutAside(uint64_t checkpoint) {
  WEIR_RETURN_IF_ERROR(Refresh(checkpoint));
  saved_model::KeptStates states;
  WEIR_RETURN_IF_ERROR(
      encoder_.SaveStates([&states](const v1::PolicyStateHeader& header, ByteSpan state) {
        states.emplace_back(header, Bytes(state.begin(), state.end()));
        return OkStatus();
      }));
  return std::optional(std::move(states));
}

Status ServerClient::SavePolicyStates(const std::string& folder) const {
  return saved_model::WritePolicyStates(
      folder, {.trainer = link_.trainer(), .stage = stage_number_, .run = link_.run()},
      [this](const saved_model::TakeState& take) { return encoder_.SaveStates(take); });
}

}  // namespace weir::worker
