#include "worker/push/agreeing_rules.h"

#include <algorithm>

namespace weir::worker {

bool AgreeingRules::TryAdd(const v1::PolicyRule& rule, LayerEncoder* layer) {
  const int64_t element_count = layer->tensor().element_count();
  if (layer->policy().MakeProposer({&element_count, 1}) == nullptr) return false;
  auto found = std::ranges::find(added_, &rule, [](const auto& entry) { return entry.first; });
  if (found == added_.end()) found = added_.insert(found, {&rule, {}});
  found->second.push_back(layer);
  return true;
}

void AgreeingRules::Finish() {
  for (auto& [rule, layers] : std::exchange(added_, {})) {
    rules_.push_back(std::make_unique<AgreeingLayers>(layout_, std::move(layers)));
  }
}

std::vector<session::Body> AgreeingRules::Propose(const compress::Turn& turn,
                                                  std::span<const float> dense,
                                                  v1::Proposal* header) {
  std::vector<session::BodyWriter> writers(layout_.server_count());
  for (const auto& rule : rules_) {
    rule->Begin(turn, dense);
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

std::vector<std::unique_lock<std::mutex>> AgreeingRules::ProposeAlone(
    std::span<const float> dense) {
  std::vector<std::unique_lock<std::mutex>> locks;
  for (const auto& rule : rules_) {
    locks.push_back(rule->Lock());
    const Place place = place_;
    rule->Begin(
        {.step = rule->NextStep(), .rank = place.rank, .world = place.world, .agrees = false},
        dense);
    rule->LearnOwn();
  }
  return locks;
}

}  // namespace weir::worker
