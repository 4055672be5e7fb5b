#include "worker/step/chunk_work.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/base/check.h"
#include "common/base/strings.h"

namespace weir::worker {

ChunkWork::ChunkWork(v1::ChunkLease lease, data::RowBlock rows, int64_t batch_size)
    : lease_(std::move(lease)),
      rows_(std::move(rows)),
      batch_size_(batch_size),
      first_row_(static_cast<int64_t>(
          std::min(lease_.first_row(), static_cast<uint64_t>(rows_.row_count())))),
      batch_count_(std::max(static_cast<size_t>((row_count() + batch_size - 1) / batch_size),
                            static_cast<size_t>(lease_.round_count()))),
      sequences_(batch_count_) {
  if (is_test()) probabilities_.resize(static_cast<size_t>(rows_.row_count()));
}

std::optional<ChunkWork::BatchRange> ChunkWork::Take() {
  MutexLock lock(mutex_);
  if (abandoned_ || next_ == batch_count_) return std::nullopt;
  BatchRange range;
  range.index = next_++;
  range.begin =
      std::min(first_row_ + static_cast<int64_t>(range.index) * batch_size_, rows_.row_count());
  range.end = std::min(range.begin + batch_size_, rows_.row_count());
  return range;
}

RoundOfPush ChunkWork::round(const BatchRange& range) const {
  if (lease_.round_count() == 0) return {};
  return {lease_.first_round() + range.index,
          {lease_.members().data(), static_cast<size_t>(lease_.members_size())}};
}

void ChunkWork::Finish(const BatchRange& range, uint64_t push_sequence) {
  MutexLock lock(mutex_);
  CHECK(!sequences_[range.index].has_value());
  sequences_[range.index] = push_sequence;
  ++finished_;
  changed_.NotifyAll();
}

void ChunkWork::FinishScores(const BatchRange& range, std::span<const float> probabilities,
                             std::span<const float> unmasked) {
  CHECK_EQ(std::ssize(probabilities), range.end - range.begin);
  std::ranges::copy(probabilities, probabilities_.begin() + range.begin);
  if (!unmasked.empty()) {
    CHECK_EQ(unmasked.size(), probabilities.size());
    MutexLock lock(mutex_);
    unmasked_.resize(probabilities_.size());
    std::ranges::copy(unmasked, unmasked_.begin() + range.begin);
  }
  Finish(range, 0);
}

eval::Scores ChunkWork::scores() const {
  eval::Scores scores;
  for (size_t row = 0; row < probabilities_.size(); ++row) {
    if (!std::isfinite(probabilities_[row])) continue;
    scores.probabilities.push_back(probabilities_[row]);
    if (!unmasked_.empty()) scores.unmasked.push_back(unmasked_[row]);
    scores.labels.push_back(static_cast<uint8_t>(rows_.labels[row]));
  }
  return scores;
}

std::vector<int64_t> ChunkWork::RowsWithoutScore() const {
  std::vector<int64_t> rows;
  for (size_t row = 0; row < probabilities_.size(); ++row) {
    if (!std::isfinite(probabilities_[row])) rows.push_back(static_cast<int64_t>(row));
  }
  return rows;
}

uint64_t ChunkWork::FinishedRows(uint64_t durable_sequence) {
  MutexLock lock(mutex_);
  while (durable_prefix_ < batch_count_ && sequences_[durable_prefix_] &&
         *sequences_[durable_prefix_] <= durable_sequence) {
    ++durable_prefix_;
  }
  const int64_t rows = static_cast<int64_t>(durable_prefix_) * batch_size_;
  return static_cast<uint64_t>(std::min(first_row_ + rows, rows_.row_count()));
}

std::optional<uint64_t> ChunkWork::AwaitFinished() {
  MutexLock lock(mutex_);
  while (!abandoned_ && finished_ < batch_count_) changed_.Wait(lock);
  if (abandoned_) return std::nullopt;
  uint64_t highest = 0;
  for (const auto& sequence : sequences_) highest = std::max(highest, *sequence);
  return highest;
}

void ChunkWork::Abandon() {
  MutexLock lock(mutex_);
  abandoned_ = true;
  changed_.NotifyAll();
}

void ChunkWork::Revoke() {
  MutexLock lock(mutex_);
  abandoned_ = revoked_ = true;
  changed_.NotifyAll();
}

bool ChunkWork::is_revoked() const {
  MutexLock lock(mutex_);
  return revoked_;
}

std::string PlaceOf(const v1::DataConfig& data, const ChunkWork& chunk, size_t row) {
  const std::vector<int64_t>& lines = chunk.rows().lines;
  if (lines.empty()) return StrCat("row ", row, " of chunk ", chunk.lease().chunk(), " to test on");
  return StrCat(data.test(static_cast<int>(chunk.lease().file())), ":", lines[row]);
}

}  // namespace weir::worker
