// What of a layer is saved with a model, and taken over from one.

#include <string>
#include <utility>

#include "common/base/check.h"
#include "common/base/strings.h"
#include "common/compress/saved_state.h"
#include "common/config/policy_rules.h"
#include "google/protobuf/util/message_differencer.h"
#include "worker/push/layer_encoder.h"

namespace weir::worker {
namespace {

// Whatever layers they are for, and however values travel.
bool IsSame(v1::PolicyRule a, v1::PolicyRule b) {
  for (v1::PolicyRule* const rule : {&a, &b}) {
    rule->clear_match();
    rule->clear_values();
  }
  return google::protobuf::util::MessageDifferencer::Equals(a, b);
}

}  // namespace

void LayerEncoder::Save(std::span<const float> residual_elsewhere, v1::PolicyStateHeader* header,
                        Bytes* state) const {
  compress::SaveState(*policy_, *state_, residual_elsewhere, state);
  header->set_name(tensor_.name);
  *header->mutable_rule() = rule_;
  header->set_has_unsent(compress::HasResidual(*state));
}

Result<bool> LayerEncoder::Load(const v1::PolicyStateHeader& header, ByteSpan state,
                                std::vector<float>* residual_elsewhere) {
  const std::string& name = header.name();
  if (std::exchange(is_loaded_, true)) return InvalidData(StrCat(name, " comes twice"));
  const std::string policy(config::PolicyName(header.rule()));
  const bool is_same_rule = IsSame(header.rule(), rule_);
  const bool is_lost = !policy_->keeps_residual() && header.has_unsent();
  if (is_lost) {
    LOG(WARNING) << "what the policy " << policy << " had not sent of " << name
                 << " is lost: " << policy_->name() << " keeps nothing";
  }
  if (is_on_device() && policy_->keeps_residual())
    residual_elsewhere->resize(static_cast<size_t>(scope_.element_count));
  const Status loaded =
      compress::LoadState(*policy_, state, is_same_rule, *residual_elsewhere, state_.get());
  if (loaded.ok()) return is_same_rule || !is_lost;
  return InvalidData(StrCat("of ", name, ", under ", policy, ", ", loaded.message()));
}

}  // namespace weir::worker
