#include "common/cluster/lease_book.h"

#include <algorithm>

namespace weir::cluster {

LeaseBook::LeaseBook(v1::InputSplit split, uint32_t file_count, uint32_t epoch_count,
                     uint64_t lines_per_chunk)
    : split_(split),
      order_(file_count, epoch_count),
      places_(file_count, lines_per_chunk),
      chunks_with_rows_(file_count) {}

std::optional<v1::ChunkLease> LeaseBook::Lend(Seat member) {
  Lease lease;
  if (!returned_.empty()) {
    lease = returned_.front();
    returned_.pop_front();
    order_.Stand(member, lease.key.file);
  } else {
    const std::optional<ChunkKey> next = order_.Next(member, places_);
    if (!next) return std::nullopt;
    order_.Take(member, *next, places_);
    lease.key = *next;
  }
  const uint64_t id = next_id_++;
  lent_[id] = {member, lease, lease.first_row};
  ++lent_counts_[member];
  return MakeMessage(id, lease);
}

v1::ChunkLease LeaseBook::MakeMessage(uint64_t id, const Lease& lease) const {
  v1::ChunkLease message;
  message.set_lease(id);
  message.set_split(split_);
  message.set_epoch(lease.key.epoch);
  message.set_file(lease.key.file);
  message.set_chunk(lease.key.chunk);
  message.set_first_row(lease.first_row);
  if (const auto place = places_.Find(lease.key.file, lease.key.chunk)) {
    *message.mutable_place() = *place;
  }
  return message;
}

void LeaseBook::AskForNext(Seat member, v1::ChunkLease* lease) {
  const ChunkKey next{.epoch = lease->epoch(), .file = lease->file(), .chunk = lease->chunk() + 1};
  if (order_.IsPastEnd(next) || !places_.Wants(next.file, next.chunk)) return;
  lease->set_wants_next(true);
  tellers_[member] = next;
}

bool LeaseBook::IsLookedFor(Seat member) {
  if (tellers_.empty() || !returned_.empty()) return false;
  const std::optional<ChunkKey> next = order_.Next(member, places_);
  if (!next || !places_.Wants(next->file, next->chunk)) return false;
  return std::ranges::any_of(tellers_, [&](const auto& entry) {
    return entry.second.file == next->file && entry.second.chunk == next->chunk;
  });
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
  if (file >= order_.file_count()) return true;
  const uint64_t known = order_.LearnEnd(file, chunk_count);
  ForgetPastEnds();
  return known >= chunks_with_rows_[file];
}

bool LeaseBook::LearnRows(const ChunkKey& key) {
  uint64_t& met = chunks_with_rows_[key.file];
  met = std::max(met, key.chunk + 1);
  return !order_.IsPastEnd(key);
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
  order_.Forget(member);
  tellers_.erase(member);
  ForgetPastEnds();
  return finished_rows;
}

void LeaseBook::ForgetPastEnds() {
  std::erase_if(returned_, [&](const Lease& lease) { return order_.IsPastEnd(lease.key); });
}

void LeaseBook::CountReturned(Seat member) {
  const auto found = lent_counts_.find(member);
  if (--found->second == 0) lent_counts_.erase(found);
}

void LeaseBook::Restart() {
  order_.Restart();
  tellers_.clear();
  lent_.clear();
  lent_counts_.clear();
  returned_.clear();
}

}  // namespace weir::cluster
