#include "common/cluster/block_book.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"

namespace weir::cluster {

uint64_t BlockBook::Leave(uint32_t trainer) {
  present_.erase(trainer);
  asked_.erase(trainer);
  const auto found = last_rounds_.find(trainer);
  if (found == last_rounds_.end()) return 0;
  const uint64_t last_round = found->second;
  last_rounds_.erase(found);
  return last_round;
}

void BlockBook::Ask(uint32_t trainer) {
  if (present_.contains(trainer)) asked_.insert(trainer);
}

std::optional<std::vector<uint32_t>> BlockBook::Ready() const {
  if (asked_.empty() || asked_.size() < present_.size()) return std::nullopt;
  if (!has_begun() && present_.size() < first_trainer_count_) return std::nullopt;
  return std::vector<uint32_t>(asked_.begin(), asked_.end());
}

Block BlockBook::Open(std::vector<uint32_t> members) {
  CHECK(!members.empty() && std::ranges::is_sorted(members));
  Block block{next_round_, rounds_per_block_, std::move(members)};
  next_round_ += rounds_per_block_;
  asked_.clear();
  for (const uint32_t trainer : block.members) last_rounds_[trainer] = block.last_round();
  return block;
}

}  // namespace weir::cluster
