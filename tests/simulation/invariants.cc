#include "tests/simulation/invariants.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "common/base/strings.h"
#include "common/device/cpu_device.h"
#include "tests/server/server_test_support.h"
#include "tests/simulation/places.h"

namespace weir::simulation {
namespace {

// Of a push, what no sum of roundings comes to.
constexpr double kNoShare = 0.01;

}  // namespace

void Invariants::Check() {
  for (uint32_t i = 0; i < scene_.mix.servers; ++i) {
    CheckServer(i);
    CheckRounds(i);
    CheckRows(i);
  }
  CheckBatches();
  if (scene_.stage_count() > 1) CheckTrips();
  for (const auto& worker : workers_) {
    if (worker->has_replica()) CheckReplica(*worker);
  }
}

void Invariants::CheckServer(uint32_t server) {
  shares_[server].resize(scene_.pushes.size());
  for (const auto& strand : servers_[server]->shard().dense_strands()) {
    TakeShares(server, strand->piece());
  }
  for (size_t push = 0; push < scene_.pushes.size(); ++push) CheckPush(server, push);
}

void Invariants::TakeShares(uint32_t server, const store::Piece& piece) {
  const PieceSpec& spec = piece.spec();
  const uint32_t stage = scene_.layout.StageOfTensor(spec.tensor);
  const bool is_own = PieceOf(scene_.layout, scene_.part(stage), server).id == spec.id;
  const std::vector<size_t>& pushes = scene_.pushes_of_stage[stage];
  for (int64_t i = 0; i < spec.element_count; ++i) {
    const auto element = static_cast<size_t>(i);
    const float begin = server::InitialValue(scene_.layout, spec.tensor, spec.begin + i);
    const double share = (begin - piece.values()[element]) / server::kDenseRate;
    if (is_own && element < pushes.size()) {
      shares_[server][pushes[element]] = share;
    } else if (std::abs(share) > kNoShare) {
      scene_.Violate(StrCat("server ", server, " has made up a push"));
    }
  }
}

int64_t Invariants::CountOf(uint32_t server, size_t element) const {
  const double share = shares_[server][element];
  if (scene_.pushes[element].round == 0) return std::lround(share);
  return std::abs(share) > kNoShare ? 1 : 0;
}

void Invariants::CheckPush(uint32_t server, size_t element) {
  const int64_t count = CountOf(server, element);
  const SentPush& push = scene_.pushes[element];
  const bool is_durable = push.worker->Durable(server, push.life) >= push.sequence;
  if (count > 0 && push.at_ms > push.worker->ReplacedMs(server)) {
    scene_.Violate(StrCat("server ", server, " has a push of ", Name(push.seat),
                          " though another process was in its place"));
  }
  if (count == 1 || (count == 0 && !is_durable)) return;
  scene_.Violate(StrCat("server ", server, " has push ", push.sequence, " of ", Name(push.seat),
                        " in its life ", push.life, " ", count, " times"));
}

void Invariants::CheckRounds(uint32_t server) {
  std::map<uint64_t, std::vector<double>> rounds;
  for (size_t i = 0; i < scene_.pushes.size(); ++i) {
    const bool is_there = scene_.pushes[i].round > 0 && CountOf(server, i) > 0;
    if (is_there) rounds[scene_.pushes[i].round].push_back(shares_[server][i]);
  }
  for (const auto& [round, shares] : rounds) {
    const double divisor = std::round(1 / shares[0]);
    const bool is_mean = std::ranges::all_of(
        shares, [&](double share) { return std::abs(share * divisor - 1) < kNoShare; });
    const auto trainers = static_cast<double>(scene_.mix.trainers);
    if (is_mean && divisor >= static_cast<double>(shares.size()) && divisor <= trainers) continue;
    scene_.Violate(StrCat("server ", server, " has no mean of round ", round));
  }
}

void Invariants::CheckRows(uint32_t server) {
  std::vector<double> pushed(scene_.mix.trainers);
  for (size_t i = 0; i < scene_.pushes.size(); ++i) {
    const cluster::Seat seat = scene_.pushes[i].seat;
    if (scene_.part(seat.stage).has_interaction) pushed[seat.trainer] += shares_[server][i];
  }
  for (uint32_t trainer = 0; trainer < scene_.mix.trainers; ++trainer) {
    const uint64_t id = RowOf(trainer, server, scene_.mix.servers);
    double in_rows = 0;
    for (const auto& strand : servers_[server]->shard().row_strands()) {
      const auto row = strand->rows().Find(0, id);
      if (row.empty()) continue;
      in_rows += (server::InitialRow(scene_.layout, 0, id)[0] - row[0]) / server::kRowRate;
    }
    if (std::abs(in_rows - pushed[trainer]) < kNoShare) continue;
    scene_.Violate(StrCat("server ", server, " has ", pushed[trainer], " pushes of trainer ",
                          trainer, " in its pieces and ", in_rows, " in its rows"));
  }
}

void Invariants::CheckBatches() {
  std::map<BatchPlace, std::vector<size_t>> batches;
  for (uint64_t chunk = 0; chunk < scene_.mix.chunks; ++chunk) {
    for (uint64_t i = 0; i < scene_.mix.chunk_batches; ++i) batches[{chunk, i * kBatchRows}];
  }
  for (const size_t push : scene_.pushes_of_stage[0]) {
    batches[scene_.pushes[push].place].push_back(push);
  }
  for (const auto& [place, pushes] : batches) CheckBatch(pushes, place);
}

bool Invariants::WasHarmed(uint32_t trainer) const {
  return std::ranges::any_of(workers_, [&](const auto& worker) {
    return worker->seat().trainer == trainer && worker->was_harmed();
  });
}

void Invariants::CheckBatch(const std::vector<size_t>& pushes, const BatchPlace& place) {
  const std::string name = Name(place);
  const bool was_somebody_lost = std::ranges::any_of(
      pushes, [&](size_t push) { return WasHarmed(scene_.pushes[push].seat.trainer); });
  for (uint32_t server = 0; server < scene_.mix.servers; ++server) {
    int64_t count = 0;
    for (const size_t push : pushes) count += CountOf(server, push);
    if (count == 0) scene_.Violate(StrCat("server ", server, " has no push of ", name));
    if (count <= 1 || was_somebody_lost) continue;
    scene_.Violate(StrCat("server ", server, " has ", count, " pushes of ", name,
                          ", and no trainer was lost"));
  }
}

void Invariants::CheckReplica(const SimulatedWorker& worker) {
  const float* const replica = device::OnHost(worker.link().replica());
  for (const auto& server : servers_) {
    for (const auto& strand : server->shard().dense_strands()) {
      const store::Piece& piece = strand->piece();
      const uint32_t tensor = piece.spec().tensor;
      if (tensor < worker.part().first_tensor || tensor >= worker.part().end_tensor) continue;
      const int64_t begin = scene_.layout.tensors()[tensor].offset + piece.spec().begin;
      for (size_t i = 0; i < piece.values().size(); ++i) {
        if (replica[static_cast<size_t>(begin) + i] == piece.values()[i]) continue;
        return scene_.Violate("a replica is not what the servers have");
      }
    }
  }
}

}  // namespace weir::simulation
