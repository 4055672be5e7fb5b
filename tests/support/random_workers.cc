#include "tests/support/random_workers.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"
#include "common/session/run_identity.h"

namespace weir::server {
namespace {

constexpr int64_t kVeryLongMs = 10'000'000;

// Nobody is silent for long: who is loaded counts as heard of.
v1::Config Patient(v1::Config config) {
  v1::SyntheticConfig& data = *config.mutable_data()->mutable_synthetic();
  data.set_rows(RandomWorkers::kRowsOfChunk * RandomWorkers::kTrainChunks);
  data.set_test_rows(RandomWorkers::kRowsOfChunk * RandomWorkers::kTestChunks);
  v1::ClusterConfig& cluster = *config.mutable_cluster();
  cluster.set_member_timeout_ms(kVeryLongMs);
  cluster.set_join_timeout_ms(kVeryLongMs);
  cluster.set_answer_timeout_ms(kVeryLongMs);
  return config;
}

}  // namespace

RandomWorkers::RandomWorkers(const v1::Config& config, uint32_t trainers, uint32_t stages,
                             bool servers_save, uint64_t seed)
    : config_(Patient(config)),
      stages_(stages),
      servers_save_(servers_save),
      random_(seed),
      twins_([this] {
        auto coordinator = std::make_unique<Coordinator>(
            config_, session::MakeRunIdentity(config_, kServersOfRun), kServersOfRun, 77);
        if (servers_save_) coordinator->ServersSave(std::nullopt);
        return coordinator;
      }) {
  for (uint32_t trainer = 0; trainer < trainers; ++trainer) {
    for (uint32_t stage = 0; stage < stages; ++stage) workers_[{trainer, stage}] = {};
  }
}

void RandomWorkers::Run() {
  const auto has_left = [](const auto& entry) { return entry.second.has_left; };
  for (int event = 0; event < 5000 && !std::ranges::all_of(workers_, has_left); ++event) {
    if (testing::Test::HasFailure()) return;
    now_ms_ += static_cast<int64_t>(random_.NextBelow(8));
    const auto entry =
        std::next(workers_.begin(), static_cast<int64_t>(random_.NextBelow(workers_.size())));
    Chance(0.2) ? Tick() : Act(entry->first);
    Rest();
    twins_.Save();
    twins_.Die(now_ms_);
    for (const auto& [seat, worker] : workers_) {
      if (worker.request && worker.incarnation > 0) Send(seat);
    }
    Rest();
    twins_.Save();
  }
  for (int event = 0; event < 12; ++event) {
    Tick();
    twins_.Save();
    twins_.Die(now_ms_);
  }
}

void RandomWorkers::Act(cluster::Seat seat) {
  Worker& worker = workers_[seat];
  if (worker.has_left) return;
  if (worker.incarnation == 0) return Join(seat);
  if (Chance(0.2)) return Beat(seat);
  if (Chance(0.3)) return Push(seat);
  if (worker.request) return;
  if (Chance(0.03)) return Die(seat);
  worker.is_over || Chance(0.1) ? Report(seat) : Ask(seat);
}

// Unless it is the last one that trains.
void RandomWorkers::Die(cluster::Seat seat) {
  const auto others = std::ranges::count_if(workers_, [&](const auto& entry) {
    return entry.first.trainer != seat.trainer && entry.first.stage == 0 &&
           entry.second.incarnation > 0 && !entry.second.has_left;
  });
  if (others == 0 || workers_[seat].is_over) return;
  ++deaths_;
  Leave(seat, "no server answers");
  workers_[seat] = {};
}

bool RandomWorkers::TakeHeld() {
  const auto replies = twins_.Tell([&](Coordinator& to) { return to.TakeHeldReplies(now_ms_); });
  for (const auto& held : replies) {
    if (!Chance(0.1)) Take(held.seat, held.header);
  }
  return !replies.empty();
}

void RandomWorkers::Tick() {
  twins_.Do([&](Coordinator& to) { to.Tick(now_ms_); });
  ReportShard();
  if (servers_save_) SaveModel();
}

// Until nothing more happens by itself: who was asked again has seen earlier what is due.
void RandomWorkers::Rest() {
  while (TakeHeld()) continue;
  twins_.Do([&](Coordinator& to) { to.Tick(now_ms_); });
  while (TakeHeld()) continue;
}

void RandomWorkers::SaveModel() {
  if (!twins_.Tell([](Coordinator& to) { return to.wants_parts(); })) return;
  v1::PartReport part;
  part.set_written_bytes(written_bytes_ += 10);
  part.set_is_done(written_bytes_ > 30);
  twins_.Do([&](Coordinator& to) { to.OnPart(part); });
  if (!twins_.Tell([](Coordinator& to) { return to.wants_model(); })) return;
  EXPECT_TRUE(twins_.Tell([](Coordinator& to) { return to.Manifest(); }).ok());
  twins_.Do([](Coordinator& to) { to.OnModel(); });
}

void RandomWorkers::ReportShard() {
  v1::ShardReport report;
  *report.mutable_identity() = session::MakeRunIdentity(config_, kServersOfRun);
  report.set_shard(1);
  report.set_nonce(9);
  report.set_run(twins_.lasting().run());
  report.set_saves(servers_save_);
  if (servers_save_ && written_bytes_ > 0) {
    report.mutable_part()->set_written_bytes(written_bytes_);
    report.mutable_part()->set_is_done(written_bytes_ > 50);
  }
  const auto say = [&](Coordinator& to) { return to.OnShardReport(report, now_ms_); };
  const auto reply = twins_.Tell(say);
  if (!reply || reply->shard_reply().state() != v1::ShardReply::FINISHED) return;
  report.set_farewell(true);
  twins_.Tell(say);
}

}  // namespace weir::server
