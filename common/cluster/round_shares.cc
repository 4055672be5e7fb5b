#include "common/cluster/round_shares.h"

#include <utility>

namespace weir::cluster {

bool RoundShares::Ask(Seat member, Lend lend) {
  blocks_.Join(member.trainer);
  blocks_.Ask(member.trainer);
  const std::optional<std::vector<uint32_t>> trainers = blocks_.Ready();
  if (!trainers) return false;
  std::map<Seat, v1::ChunkLease> shares;
  std::vector<uint32_t> members;
  for (const uint32_t trainer : *trainers) {
    std::optional<v1::ChunkLease> lease = lend({.trainer = trainer, .stage = 0});
    if (!lease) continue;
    members.push_back(trainer);
    shares.emplace(Seat{.trainer = trainer, .stage = 0}, *std::move(lease));
  }
  if (members.empty()) return false;
  const Block block = blocks_.Open(std::move(members));
  for (auto& [seat, lease] : shares) {
    lease.set_first_round(block.first_round);
    lease.set_round_count(block.round_count);
    lease.mutable_members()->Add(block.members.begin(), block.members.end());
    shares_.insert_or_assign(seat, std::move(lease));
  }
  return true;
}

std::optional<v1::ChunkLease> RoundShares::Take(Seat member) {
  auto share = shares_.extract(member);
  if (share.empty()) return std::nullopt;
  return std::move(share.mapped());
}

bool RoundShares::Leave(Seat member) {
  shares_.erase(member);
  const uint64_t last_round = blocks_.Leave(member.trainer);
  if (last_round == 0) return false;
  v1::Departure departure;
  departure.set_trainer(member.trainer);
  departure.set_last_round(last_round);
  departures_.push_back(std::move(departure));
  return true;
}

}  // namespace weir::cluster
