#include "common/cluster/round_shares.h"

#include <utility>

namespace weir::cluster {

bool RoundShares::Ask(Seat member, Lend lend) {
  if (shares_.contains(member)) return false;  // it waits for what it was lent
  blocks_.Join(member.trainer);
  blocks_.Ask(member.trainer);
  const std::optional<std::vector<uint32_t>> trainers = blocks_.Ready();
  if (!trainers) return false;
  std::map<Seat, v1::ChunkLease> leases;
  for (const uint32_t trainer : *trainers) {
    const Seat seat{.trainer = trainer, .stage = 0};
    if (auto lease = lend(seat)) leases.emplace(seat, *std::move(lease));
  }
  if (leases.empty()) return false;
  Open(std::move(leases));
  return true;
}

void RoundShares::Open(std::map<Seat, v1::ChunkLease> leases) {
  std::vector<uint32_t> members;
  members.reserve(leases.size());
  for (const auto& [seat, lease] : leases) members.push_back(seat.trainer);
  const Block block = blocks_.Open(std::move(members));
  const uint64_t first_lease = leases.begin()->second.lease();
  for (auto& [seat, lease] : leases) {
    lease.set_first_round(block.first_round);
    lease.set_round_count(block.round_count);
    lease.mutable_members()->Add(block.members.begin(), block.members.end());
    shares_.Change(seat) = {std::move(lease), first_lease};
  }
}

std::optional<v1::ChunkLease> RoundShares::Take(Seat member, uint64_t oldest_lease) {
  const auto found = shares_.find(member);
  if (found == shares_.end()) return std::nullopt;
  const Share& share = found->second;
  if (share.lease.begins() && oldest_lease < share.first_lease) return std::nullopt;
  v1::ChunkLease lease = share.lease;
  shares_.Erase(member);
  return lease;
}

bool RoundShares::Leave(Seat member) {
  shares_.Erase(member);
  const uint64_t last_round = blocks_.Leave(member.trainer);
  if (last_round > 0) departures_.Change(member.trainer) = last_round;
  return last_round > 0;
}

std::vector<v1::Departure> RoundShares::departures() const {
  std::vector<v1::Departure> departures;
  for (const auto& [trainer, last_round] : departures_) {
    v1::Departure& departure = departures.emplace_back();
    departure.set_trainer(trainer);
    departure.set_last_round(last_round);
  }
  return departures;
}

std::optional<RoundShares::Start> RoundShares::awaited_start() const {
  if (blocks_.has_begun()) return std::nullopt;
  return Start{blocks_.present_count(), blocks_.first_trainer_count()};
}

void RoundShares::SaveChanges(SavedParts* parts) {
  saved_blocks_.SaveChanges(blocks_, parts);
  shares_.SaveChanges(parts);
  departures_.SaveChanges(parts);
}

Status RoundShares::Load(PartSource* source) {
  WEIR_RETURN_IF_ERROR(saved_blocks_.Load(source, &blocks_));
  WEIR_RETURN_IF_ERROR(shares_.Load(source));
  return departures_.Load(source);
}

}  // namespace weir::cluster
