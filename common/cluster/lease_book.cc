#include "common/cluster/lease_book.h"

#include <algorithm>

namespace weir::cluster {

LeaseBook::LeaseBook(v1::InputSplit split, uint32_t file_count, uint32_t epoch_count)
    : split_(split),
      file_count_(file_count),
      epoch_count_(epoch_count),
      chunk_counts_(file_count),
      chunks_with_rows_(file_count) {}

std::optional<v1::ChunkLease> LeaseBook::Lend(Seat member) {
  Lease lease;
  if (!returned_.empty()) {
    lease = returned_.front();
    returned_.pop_front();
  } else {
    SkipPastEnds(next_);
    if (next_.epoch >= epoch_count_) return std::nullopt;
    lease.key = next_;
    ++next_.chunk;
  }
  const uint64_t id = next_id_++;
  lent_[id] = {member, lease, lease.first_row};
  ++lent_counts_[member];

  v1::ChunkLease message;
  message.set_lease(id);
  message.set_split(split_);
  message.set_epoch(lease.key.epoch);
  message.set_file(lease.key.file);
  message.set_chunk(lease.key.chunk);
  message.set_first_row(lease.first_row);
  return message;
}

std::optional<Lease> LeaseBook::Finish(Seat member, uint64_t lease_id) {
  const auto found = lent_.find(lease_id);
  if (found == lent_.end() || found->second.member != member) return std::nullopt;
  const Lease lease = {found->second.lease.key, found->second.lent_from_row};
  lent_.erase(found);
  CountReturned(member);
  return lease;
}

void LeaseBook::Advance(Seat member, uint64_t lease_id, uint64_t row) {
  const auto found = lent_.find(lease_id);
  if (found == lent_.end() || found->second.member != member) return;
  uint64_t& first_row = found->second.lease.first_row;
  first_row = std::max(first_row, row);
}

bool LeaseBook::LearnEnd(uint32_t file, uint64_t chunk_count) {
  if (file >= file_count_) return true;
  std::optional<uint64_t>& known = chunk_counts_[file];
  known = std::min(known.value_or(chunk_count), chunk_count);
  std::erase_if(returned_, [&](const Lease& lease) { return IsPastEnd(lease.key); });
  return *known >= chunks_with_rows_[file];
}

bool LeaseBook::LearnRows(const ChunkKey& key) {
  uint64_t& met = chunks_with_rows_[key.file];
  met = std::max(met, key.chunk + 1);
  return !IsPastEnd(key);
}

uint64_t LeaseBook::TakeBack(Seat member) {
  uint64_t finished_rows = 0;
  for (auto it = lent_.begin(); it != lent_.end();) {
    if (it->second.member == member) {
      finished_rows += it->second.lease.first_row - it->second.lent_from_row;
      returned_.push_back(it->second.lease);
      it = lent_.erase(it);
    } else {
      ++it;
    }
  }
  lent_counts_.erase(member);
  std::erase_if(returned_, [&](const Lease& lease) { return IsPastEnd(lease.key); });
  return finished_rows;
}

void LeaseBook::CountReturned(Seat member) {
  const auto found = lent_counts_.find(member);
  if (--found->second == 0) lent_counts_.erase(found);
}

void LeaseBook::Restart() {
  next_ = {};
  lent_.clear();
  lent_counts_.clear();
  returned_.clear();
}

bool LeaseBook::exhausted() const {
  ChunkKey next = next_;
  SkipPastEnds(next);
  return next.epoch >= epoch_count_ && returned_.empty();
}

std::optional<uint64_t> LeaseBook::chunks_per_epoch() const {
  uint64_t total = 0;
  for (const auto& count : chunk_counts_) {
    if (!count) return std::nullopt;
    total += *count;
  }
  return total;
}

bool LeaseBook::IsPastEnd(const ChunkKey& key) const {
  const std::optional<uint64_t>& count = chunk_counts_[key.file];
  return count && key.chunk >= *count;
}

void LeaseBook::SkipPastEnds(ChunkKey& key) const {
  if (file_count_ == 0) key.epoch = epoch_count_;
  while (key.epoch < epoch_count_ && IsPastEnd(key)) {
    key.chunk = 0;
    if (++key.file == file_count_) {
      key.file = 0;
      ++key.epoch;
    }
  }
}

}  // namespace weir::cluster
