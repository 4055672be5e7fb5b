#include "common/compress/row_residual.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "common/base/check.h"

namespace weir::compress {
namespace {

// Of `none` with rounding: what is kept is a few thousandths of a gradient, and waits for the next.
constexpr size_t kMaxRoundedRows = 100'000;

// Of old rows as many as this leave in a step, or several times what it has gradients of: all that
// a state of another age brings may be more than a message holds.
constexpr size_t kFewestOld = 1024;

float SquaredNorm(std::span<const float> values) {
  return std::inner_product(values.begin(), values.end(), values.begin(), 0.0f);
}

// Puts rows that were appended behind others where their ids belong.
void SortById(size_t dimension, SentRows* rows) {
  if (std::ranges::is_sorted(rows->ids)) return;
  std::vector<size_t> order(rows->ids.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [rows](size_t i) { return rows->ids[i]; });
  SentRows sorted;
  for (const size_t i : order) {
    const auto first = rows->values.begin() + static_cast<ptrdiff_t>(i * dimension);
    sorted.ids.push_back(rows->ids[i]);
    sorted.values.insert(sorted.values.end(), first, first + static_cast<ptrdiff_t>(dimension));
  }
  *rows = std::move(sorted);
}

}  // namespace

RowTest MakeRowTest(const v1::PolicyRule& rule) {
  if (!rule.has_lazy_rows()) {
    return {.threshold = 0,
            .alpha = std::nullopt,
            .max_age = std::numeric_limits<uint64_t>::max(),
            .max_rows = kMaxRoundedRows};
  }
  const v1::LazyRowsPolicy& lazy = rule.lazy_rows();
  RowTest test = {.threshold = std::nullopt,
                  .alpha = std::nullopt,
                  .decay = static_cast<float>(lazy.decay()),
                  .max_age = static_cast<uint64_t>(lazy.max_age()),
                  .max_rows = static_cast<size_t>(lazy.max_rows())};
  if (lazy.has_threshold()) test.threshold = static_cast<float>(lazy.threshold());
  if (lazy.has_alpha()) test.alpha = static_cast<float>(lazy.alpha());
  return test;
}

RowCounts& RowCounts::operator+=(const RowCounts& other) {
  gradients += other.gradients;
  sent += other.sent;
  sent_for_age += other.sent_for_age;
  kept_steps += other.kept_steps;
  discarded_l1 += other.discarded_l1;
  waiting += other.waiting;
  return *this;
}

RowResidual::RowResidual(const RowTest& test, size_t dimension, wire::ValueCoding values)
    : test_(test), dimension_(dimension), coding_(values) {}

void RowResidual::CheckSizes(const RowGradients& gradients) const {
  CHECK_EQ(gradients.values.size(), gradients.ids.size() * dimension_);
  CHECK(!needs_squares() || gradients.squares.size() == gradients.ids.size());
}

void RowResidual::Take(const RowGradients& gradients, SentRows* sent) {
  CheckSizes(gradients);
  sent->ids.clear();
  sent->values.clear();
  MutexLock lock(mutex_);
  counts_.gradients += gradients.ids.size();
  for (size_t i = 0; i < gradients.ids.size(); ++i) {
    const size_t slot = SlotOf(gradients.ids[i]);
    if (slot == kNoSlot) {
      SendWithoutSlot(gradients.values.subspan(i * dimension_, dimension_), gradients.ids[i], sent);
      continue;
    }
    Add(gradients, i, slot);
    if (IsWorthSending(slot)) {
      Send(slot, sent);
    } else {
      Wait(slot);
    }
  }
  SendOld(std::max(kFewestOld, 4 * gradients.ids.size()), sent);
  ++step_;
  SortById(dimension_, sent);
}

// There is no other place for rows beyond max_rows; the next Take sends as many, the oldest first.
void RowResidual::Accumulate(const RowGradients& gradients) {
  CheckSizes(gradients);
  MutexLock lock(mutex_);
  counts_.gradients += gradients.ids.size();
  for (size_t i = 0; i < gradients.ids.size(); ++i) {
    size_t slot = SlotOf(gradients.ids[i]);
    if (slot == kNoSlot) slot = NewSlot(gradients.ids[i]);
    Add(gradients, i, slot);
    slots_[slot].square_sum *= test_.decay;
    Wait(slot);
  }
  ++step_;
}

// The row's, a new one, or none because there are as many as may be.
size_t RowResidual::SlotOf(uint64_t id) {
  if (const auto found = slot_of_.find(id); found != slot_of_.end()) return found->second;
  if (slot_of_.size() >= test_.max_rows && !GiveWay()) return kNoSlot;
  return NewSlot(id);
}

size_t RowResidual::NewSlot(uint64_t id) {
  size_t slot = slots_.size();
  if (free_.empty()) {
    slots_.emplace_back();
    kept_.resize(kept_.size() + dimension_);
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  slots_[slot] = {.id = id};
  slot_of_.emplace(id, slot);
  return slot;
}

// Frees a slot of which nothing but rounding is kept, if there is one near.
bool RowResidual::GiveWay() {
  constexpr int kAsked = 8;
  for (int i = 0; i < kAsked; ++i) {
    const size_t slot = hand_;
    hand_ = (hand_ + 1) % slots_.size();
    if (slots_[slot].is_free || slots_[slot].since != kNotWaiting) continue;
    Discard(slot);
    return true;
  }
  return false;
}

void RowResidual::Discard(size_t slot) {
  for (float& kept : Kept(slot)) {
    counts_.discarded_l1 += std::fabs(static_cast<double>(kept));
    kept = 0;
  }
  Free(slot);
}

void RowResidual::Add(const RowGradients& gradients, size_t i, size_t slot) {
  const std::span<float> kept = Kept(slot);
  const float* const gradient = gradients.values.data() + i * dimension_;
  for (size_t k = 0; k < dimension_; ++k) kept[k] += gradient[k];
  if (needs_squares()) slots_[slot].square_sum += gradients.squares[i];
}

bool RowResidual::IsWorthSending(size_t slot) {
  const float squared_norm = SquaredNorm(Kept(slot));
  // What is no number is sent, so that whoever applies it sees it.
  if (!std::isfinite(squared_norm)) return true;
  if (test_.threshold && squared_norm >= *test_.threshold * *test_.threshold) return true;
  float& square_sum = slots_[slot].square_sum;
  if (test_.alpha && squared_norm > *test_.alpha * square_sum) return true;
  square_sum *= test_.decay;
  return false;
}

void RowResidual::Wait(size_t slot) {
  if (slots_[slot].since != kNotWaiting) return;
  slots_[slot].since = step_;
  waiting_.push_back({step_, slot});
  ++counts_.waiting;
}

void RowResidual::Send(size_t slot, SentRows* sent) {
  sent->ids.push_back(slots_[slot].id);
  bool keeps_any = false;
  for (float& kept : Kept(slot)) {
    const float value = wire::Round(kept, coding_);
    sent->values.push_back(value);
    kept = std::isfinite(value) ? kept - value : 0;
    keeps_any = keeps_any || kept != 0;
  }
  ++counts_.sent;
  if (slots_[slot].since != kNotWaiting) {
    counts_.kept_steps += step_ - slots_[slot].since;
    --counts_.waiting;
  }
  slots_[slot].since = kNotWaiting;
  slots_[slot].square_sum = 0;
  if (!keeps_any) Free(slot);
}

void RowResidual::SendWithoutSlot(std::span<const float> gradient, uint64_t id, SentRows* sent) {
  sent->ids.push_back(id);
  for (const float element : gradient) {
    const float value = wire::Round(element, coding_);
    sent->values.push_back(value);
    if (std::isfinite(value)) {
      counts_.discarded_l1 += std::fabs(static_cast<double>(element) - static_cast<double>(value));
    }
  }
  ++counts_.sent;
}

void RowResidual::SendOld(size_t most, SentRows* sent) {
  const size_t enough = sent->ids.size() + most;
  while (!waiting_.empty() && sent->ids.size() < enough) {
    const bool is_old = step_ - waiting_.front().since >= test_.max_age;
    if (!is_old && slot_of_.size() <= test_.max_rows) break;
    const auto entry = waiting_.front();
    waiting_.pop_front();
    if (!IsWaiting(entry)) continue;
    counts_.sent_for_age += is_old ? 1 : 0;
    Send(entry.slot, sent);
    if (slot_of_.size() > test_.max_rows && !slots_[entry.slot].is_free) Discard(entry.slot);
  }
  ForgetStale();
}

// Or rows that are sent early would leave an entry each time, for as long as max_age.
void RowResidual::ForgetStale() {
  constexpr size_t kFew = 1024;
  if (waiting_.size() <= 2 * slot_of_.size() + kFew) return;
  std::erase_if(waiting_,
                [this](const auto& entry) WEIR_REQUIRES(mutex_) { return !IsWaiting(entry); });
}

void RowResidual::Free(size_t slot) {
  slot_of_.erase(slots_[slot].id);
  slots_[slot].is_free = true;
  free_.push_back(slot);
}

bool RowResidual::empty() const {
  MutexLock lock(mutex_);
  return slot_of_.empty();
}

RowCounts RowResidual::counts() const {
  MutexLock lock(mutex_);
  return counts_;
}

std::vector<float> RowResidual::KeptOf(uint64_t id) const {
  MutexLock lock(mutex_);
  const auto found = slot_of_.find(id);
  if (found == slot_of_.end()) return std::vector<float>(dimension_);
  const auto first = kept_.begin() + static_cast<ptrdiff_t>(found->second * dimension_);
  return {first, first + static_cast<ptrdiff_t>(dimension_)};
}

}  // namespace weir::compress
