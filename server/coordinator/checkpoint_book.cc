#include "server/coordinator/checkpoint_book.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/base/strings.h"
#include "server/coordinator/part_totals.h"

namespace weir::server {

void CheckpointBook::Begin(v1::CheckpointFacts facts, int64_t now_ms) {
  CHECK_EQ(number(), 0u);
  facts_ = std::move(facts);
  has_folder_ = is_cut_ = is_whole_ = false;
  seats_.clear();
  parts_.clear();
  failure_.reset();
  progress_ms_ = now_ms;
}

void CheckpointBook::Take(cluster::Seat seat, const v1::CheckpointWord& word) {
  if (number() == 0 || word.number() != number()) return;
  if (!word.failure().empty()) return Fail(StrCat(cluster::Name(seat), ": ", word.failure()));
  // Who comes later has nothing of it.
  if (!is_cut_ || seats_.contains(seat)) seats_[seat].is_written |= word.is_written();
}

void CheckpointBook::Leave(cluster::Seat seat) {
  const auto found = seats_.find(seat);
  if (found != seats_.end() && !found->second.is_written) seats_.erase(found);
}

void CheckpointBook::TakePart(uint32_t server, const v1::PartReport& part) {
  if (number() == 0 || part.checkpoint() != number() || server >= server_count_) return;
  if (!part.failure().empty()) return Fail(part.failure());
  v1::PartReport& known = parts_[server];
  if (!known.is_done()) known = part;
}

bool CheckpointBook::TakeWhole() {
  const auto is_done = [](const auto& entry) { return entry.second.is_done(); };
  const auto is_written = [](const auto& entry) { return entry.second.is_written; };
  const bool is_whole = number() > 0 && is_cut_ && !is_whole_ && parts_.size() == server_count_ &&
                        std::ranges::all_of(parts_, is_done) &&
                        std::ranges::all_of(seats_, is_written);
  is_whole_ |= is_whole;
  return is_whole;
}

v1::SavedModelManifest CheckpointBook::Manifest() const {
  v1::SavedModelManifest manifest;
  AddParts(parts_, &manifest);
  *manifest.mutable_checkpoint() = facts_;
  for (const auto& [seat, ignored] : seats_) {
    v1::SeatOfResiduals& residuals = *manifest.mutable_checkpoint()->add_residuals();
    residuals.set_trainer(seat.trainer);
    residuals.set_stage(seat.stage);
  }
  return manifest;
}

void CheckpointBook::Fail(std::string why) {
  if (number() > 0 && !failure_) failure_ = std::move(why);
}

std::optional<std::string> CheckpointBook::TakeFailure(int64_t now_ms) {
  if (number() == 0) return std::nullopt;
  if (progress() != last_progress_) progress_ms_ = now_ms;
  last_progress_ = progress();
  if (now_ms - progress_ms_ > kPatienceMs) {
    Fail(StrCat("nothing happened to it for ", kPatienceMs, " ms", DescribeLate()));
  }
  if (failure_) facts_.Clear();
  return std::exchange(failure_, std::nullopt);
}

// Who was started again has forgotten it.
std::string CheckpointBook::DescribeLate() const {
  std::vector<std::string> late;
  for (uint32_t server = 0; server < server_count_ && is_cut_; ++server) {
    const auto part = parts_.find(server);
    if (part == parts_.end() || !part->second.is_done()) late.push_back(StrCat("server ", server));
  }
  if (late.empty()) return "";
  return StrCat("; ", StrJoin(late, ", "),
                " has not written its part: was it started again, has it --checkpoints?");
}

// A peer's numbers may be any.
uint64_t CheckpointBook::progress() const {
  uint64_t progress = seats_.size() + (has_folder_ ? 1 : 0) + (is_cut_ ? 1 : 0);
  for (const auto& [seat, state] : seats_) progress += state.is_written ? 1 : 0;
  for (const auto& [server, part] : parts_) {
    progress += part.written_bytes() + (part.is_done() ? 1 : 0);
  }
  return progress;
}

}  // namespace weir::server
