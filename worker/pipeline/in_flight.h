// The first stage's batches that are on their way: how many more may start, which must start anew
// because what they left with is lost, and how old the oldest is. A pure state machine.
//
// Place in the life of a batch: **start** -> forward ... backward -> **end**.
// Thread rule: owner's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>

namespace weir::worker {

template <typename Batch>
class InFlight {
 public:
  explicit InFlight(size_t limit) : limit_(limit) {}

  bool has_credit() const { return leaving_ + under_way_.size() < limit_; }

  // A number that no batch had before. Its batch counts from now on; Add or Lose follows.
  uint64_t TakeNumber() {
    ++leaving_;
    return ++last_number_;
  }
  // It leaves now.
  void Add(uint64_t number, std::unique_ptr<Batch> batch, int64_t now_ms) {
    --leaving_;
    under_way_.emplace(number, Entry{std::move(batch), now_ms});
  }
  // It is back; null when nobody waits for it (any more).
  std::unique_ptr<Batch> Remove(uint64_t number) {
    const auto found = under_way_.find(number);
    if (found == under_way_.end()) return nullptr;
    std::unique_ptr<Batch> batch = std::move(found->second.batch);
    under_way_.erase(found);
    return batch;
  }
  // Everything under way is lost and waits for TakeLost.
  void LoseAll() {
    for (auto& [number, entry] : under_way_) lost_.push_back(std::move(entry.batch));
    under_way_.clear();
  }
  // This one, which has a number, will not leave under it.
  void Lose(std::unique_ptr<Batch> batch) {
    --leaving_;
    lost_.push_back(std::move(batch));
  }
  bool has_lost() const { return !lost_.empty(); }
  std::unique_ptr<Batch> TakeLost() {
    std::unique_ptr<Batch> batch = std::move(lost_.front());
    lost_.pop_front();
    return batch;
  }

  size_t count() const { return under_way_.size(); }
  // When the one that has been away longest left.
  std::optional<int64_t> oldest_ms() const {
    if (under_way_.empty()) return std::nullopt;
    return under_way_.begin()->second.since_ms;  // numbers and times grow together
  }

 private:
  struct Entry {
    std::unique_ptr<Batch> batch;
    int64_t since_ms = 0;
  };

  const size_t limit_;
  uint64_t last_number_ = 0;
  size_t leaving_ = 0;  // have a number and are being computed
  std::map<uint64_t, Entry> under_way_;
  std::deque<std::unique_ptr<Batch>> lost_;
};

}  // namespace weir::worker
