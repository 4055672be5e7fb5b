#include "common/cluster/lease_book.h"

#include <algorithm>

namespace weir::cluster {

LeaseBook::LeaseBook(v1::InputSplit split, uint32_t file_count, uint32_t epoch_count,
                     uint64_t lines_per_chunk)
    : split_(split), order_(file_count, epoch_count), places_(file_count, lines_per_chunk) {}

void LeaseBook::SetFileCount(uint32_t file_count) {
  order_.SetFileCount(file_count);
  places_.SetFileCount(file_count);
  chunks_with_rows_.Clear();
}

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
  lent_.Change(id) = {member, lease, lease.first_row};
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
  tellers_.Change(member) = next;
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
  lent_.Erase(lease_id);
  CountReturned(member);
  return lease;
}

void LeaseBook::Advance(Seat member, uint64_t lease_id, uint64_t row) {
  const auto found = lent_.find(lease_id);
  if (found == lent_.end() || found->second.member != member) return;
  if (row > found->second.lease.first_row) lent_.Change(lease_id).lease.first_row = row;
}

bool LeaseBook::LearnEnd(uint32_t file, uint64_t chunk_count) {
  if (file >= order_.file_count()) return true;
  const uint64_t known = order_.LearnEnd(file, chunk_count);
  ForgetPastEnds();
  const auto met = chunks_with_rows_.find(file);
  return met == chunks_with_rows_.end() || known >= met->second;
}

bool LeaseBook::LearnRows(const ChunkKey& key) {
  const auto met = chunks_with_rows_.find(key.file);
  if (met == chunks_with_rows_.end() || met->second < key.chunk + 1) {
    chunks_with_rows_.Change(key.file) = key.chunk + 1;
  }
  return !order_.IsPastEnd(key);
}

uint64_t LeaseBook::TakeBack(Seat member) {
  uint64_t finished_rows = 0;
  for (auto it = lent_.begin(); it != lent_.end();) {
    const auto [id, lent] = *it++;
    if (lent.member != member) continue;
    finished_rows += lent.lease.first_row - lent.lent_from_row;
    returned_.push_back(lent.lease);
    lent_.Erase(id);
  }
  lent_counts_.erase(member);
  order_.Forget(member);
  tellers_.Erase(member);
  ForgetPastEnds();
  return finished_rows;
}

uint64_t LeaseBook::CountOf(Seat member) const {
  const auto found = lent_counts_.find(member);
  return found == lent_counts_.end() ? 0 : found->second;
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
  tellers_.Clear();
  lent_.Clear();
  lent_counts_.clear();
  returned_.clear();
}

}  // namespace weir::cluster
