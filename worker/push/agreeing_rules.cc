#include "worker/push/agreeing_rules.h"

#include <algorithm>

namespace weir::worker {

bool AgreeingRules::TryAdd(const v1::PolicyRule& rule, LayerEncoder* layer) {
  if (!layer->policy().agrees()) return false;
  auto found = std::ranges::find(added_, &rule, [](const auto& entry) { return entry.first; });
  if (found == added_.end()) found = added_.insert(found, {&rule, {}});
  found->second.push_back(layer);
  return true;
}

void AgreeingRules::Finish() {
  for (auto& [rule, layers] : std::exchange(added_, {})) {
    rules_.push_back(std::make_unique<AgreeingLayers>(layout_, compute_, std::move(layers)));
  }
}

Result<std::vector<session::Body>> AgreeingRules::Propose(const compress::Turn& turn,
                                                          const DenseGradients& dense,
                                                          v1::Proposal* header) {
  std::vector<session::BodyWriter> writers(layout_.server_count());
  for (const auto& rule : rules_) {
    WEIR_RETURN_IF_ERROR(rule->Begin(turn, dense));
    rule->AppendProposal(writers, header->add_words());
  }
  std::vector<session::Body> bodies(writers.size());
  for (size_t i = 0; i < bodies.size(); ++i) writers[i].MoveTo(&bodies[i]);
  return bodies;
}

void AgreeingRules::Learn(const AgreedPieces& agreed, const v1::Agreement& words) {
  const v1::AgreedWord none;
  for (size_t i = 0; i < rules_.size(); ++i) {
    const bool is_told = i < static_cast<size_t>(words.words_size());
    rules_[i]->Learn(agreed, is_told ? words.words(static_cast<int>(i)) : none);
  }
}

Result<std::vector<std::unique_lock<std::mutex>>> AgreeingRules::ProposeAlone(
    const DenseGradients& dense) {
  std::vector<std::unique_lock<std::mutex>> locks;
  for (const auto& rule : rules_) {
    locks.push_back(rule->Lock());
    const Place place = place_;
    const compress::Turn turn = {
        .step = rule->NextStep(), .rank = place.rank, .world = place.world, .agrees = false};
    WEIR_RETURN_IF_ERROR(rule->Begin(turn, dense));
    rule->LearnOwn();
  }
  return locks;
}

Status AgreeingRules::Take(const DenseGradients& dense) {
  for (const auto& rule : rules_) WEIR_RETURN_IF_ERROR(rule->Take(dense));
  return OkStatus();
}

Status AgreeingRules::Accumulate(const DenseGradients& dense) {
  for (const auto& rule : rules_) WEIR_RETURN_IF_ERROR(rule->Accumulate(dense));
  return OkStatus();
}

compress::DeviceAgreed* AgreeingRules::FindOnDevice(const LayerEncoder& layer,
                                                    size_t* number) const {
  for (const auto& rule : rules_) {
    const auto found = std::ranges::find(rule->layers(), &layer);
    if (found == rule->layers().end()) continue;
    *number = static_cast<size_t>(found - rule->layers().begin());
    return rule->on_device();
  }
  return nullptr;
}

}  // namespace weir::worker
