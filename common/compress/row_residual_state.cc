// What a table's residual remembers, as bytes and back.
#include <algorithm>
#include <cstring>
#include <optional>

#include "common/base/strings.h"
#include "common/compress/row_residual.h"

namespace weir::compress {
namespace {

// More than any training takes, and none of the numbers that mean something else.
constexpr uint64_t kMostSteps = uint64_t{1} << 62;

}  // namespace

// Slots keep their numbers, because which one gives way goes by them.
void RowResidual::Save(ByteWriter* out) const {
  MutexLock lock(mutex_);
  out->Put(uint64_t{dimension_});
  out->Put(step_);
  out->Put(uint64_t{hand_});
  out->Put(uint64_t{slots_.size()});
  for (const Slot& slot : slots_) {
    out->Put(slot.id);
    out->Put(slot.since);
    out->Put(slot.square_sum);
    out->Put(uint8_t{slot.is_free});
  }
  out->PutRaw(kept_.data(), kept_.size() * sizeof(float));
  for (const size_t slot : free_) out->Put(uint64_t{slot});
  for (const Waiting& entry : waiting_) {
    if (IsWaiting(entry)) out->Put(uint64_t{entry.slot});
  }
}

Status RowResidual::Load(ByteReader* in) {
  const auto dimension = in->Get<uint64_t>();
  if (dimension != dimension_) {
    return InvalidData(StrCat("rows of ", dimension, " floats, where they have ", dimension_));
  }
  MutexLock lock(mutex_);
  step_ = in->Get<uint64_t>();
  if (step_ > kMostSteps) return InvalidData("what is no state of a table");
  hand_ = in->Get<uint64_t>();
  const bool is_sound = LoadSlots(in) && in->ok() && in->remaining() == 0;
  const bool is_hand_sound = slots_.empty() ? hand_ == 0 : hand_ < slots_.size();
  if (is_sound && is_hand_sound) return OkStatus();
  return InvalidData("what is no state of a table");
}

bool RowResidual::LoadSlots(ByteReader* in) {
  const auto count = in->Get<uint64_t>();
  constexpr size_t kSlotBytes = 2 * sizeof(uint64_t) + sizeof(float) + 1;
  if (count > in->remaining() / (kSlotBytes + dimension_ * sizeof(float))) return false;
  slots_.resize(count);
  kept_.resize(count * dimension_);
  size_t free_count = 0, waiting_count = 0;
  for (size_t i = 0; i < count; ++i) {
    Slot& slot = slots_[i];
    slot.id = in->Get<uint64_t>();
    slot.since = in->Get<uint64_t>();
    slot.square_sum = in->Get<float>();
    slot.is_free = in->Get<uint8_t>() != 0;
    const bool waits = slot.since != kNotWaiting;
    if (waits && (slot.is_free || slot.since >= step_)) return false;
    if (!slot.is_free && !slot_of_.emplace(slot.id, i).second) return false;
    free_count += slot.is_free ? 1 : 0;
    waiting_count += waits ? 1 : 0;
  }
  const ByteSpan kept = in->GetSpan(kept_.size() * sizeof(float));
  if (!kept.empty()) std::memcpy(kept_.data(), kept.data(), kept.size());
  for (size_t i = 0; i < count; ++i) {
    if (slots_[i].is_free) std::ranges::fill(Kept(i), 0);  // as Send leaves it
  }
  return LoadOrders(free_count, waiting_count, in);
}

// Of the free slots, and of those that wait: each once.
bool RowResidual::LoadOrders(size_t free_count, size_t waiting_count, ByteReader* in) {
  std::vector<bool> is_listed(slots_.size());
  const auto next = [&]() -> std::optional<size_t> {
    const auto slot = in->Get<uint64_t>();
    if (!in->ok() || slot >= is_listed.size() || is_listed[slot]) return std::nullopt;
    is_listed[slot] = true;
    return slot;
  };
  for (size_t i = 0; i < free_count; ++i) {
    const auto slot = next();
    if (!slot || !slots_[*slot].is_free) return false;
    free_.push_back(*slot);
  }
  for (size_t i = 0; i < waiting_count; ++i) {
    const auto slot = next();
    if (!slot || slots_[*slot].since == kNotWaiting) return false;
    const uint64_t since = slots_[*slot].since;
    if (!waiting_.empty() && since < waiting_.back().since) return false;
    waiting_.push_back({since, *slot});
  }
  counts_.waiting = waiting_count;
  return true;
}

}  // namespace weir::compress
