#include "tests/simulation/simulation.h"

#include <cmath>

#include "common/base/strings.h"
#include "common/device/cpu_device.h"

namespace weir::simulation {

Simulation::Simulation(uint64_t seed, Plant plant)
    : scene_(DrawMix(seed, plant)), random_(seed, 2) {
  for (uint32_t i = 0; i < scene_.mix.servers; ++i) {
    servers_.push_back(std::make_unique<SimulatedServer>(&scene_, i));
    processes_.push_back(servers_.back().get());
  }
  for (uint32_t i = 0; i < scene_.mix.trainers; ++i) {
    workers_.push_back(std::make_unique<SimulatedWorker>(&scene_, i));
    processes_.push_back(workers_.back().get());
  }
}

Outcome Simulation::Run() {
  while (!IsOver() && scene_.violation.empty()) Turn();
  return {.violation = scene_.violation,
          .trace = scene_.trace,
          .duration_ms = scene_.now_ms,
          .deaths = deaths_,
          .pushes = std::ssize(scene_.pushes)};
}

bool Simulation::IsOver() const {
  return std::ranges::all_of(servers_,
                             [](const auto& server) { return server->outcome().has_value(); }) &&
         std::ranges::all_of(workers_, [](const auto& worker) { return worker->has_left(); });
}

// Where something was heard the next is soon to come.
void Simulation::Turn() {
  const uint64_t before = scene_.trace;
  const size_t first = random_.NextBelow(processes_.size());
  for (size_t i = 0; i < processes_.size(); ++i) {
    processes_[(first + i) % processes_.size()]->Look();
  }
  const int64_t duration_ms = scene_.trace != before ? 2 : 20;
  scene_.now_ms += duration_ms;
  for (SimulatedProcess* process : processes_) process->Advance(duration_ms);
  if (!scene_.all_have_finished && scene_.now_ms < kFaultsMs) Harm(duration_ms);
  LookAtEnd();
  if (scene_.now_ms > kLongestMs) scene_.Violate("the run does not end");
}

bool Simulation::Befalls(double chance_per_second, int64_t duration_ms) {
  return random_.NextUnit() < chance_per_second * static_cast<double>(duration_ms) / 1000;
}

// In storms, with time between them in which all find each other again.
void Simulation::Harm(int64_t duration_ms) {
  if (scene_.now_ms % kStormEveryMs > kStormMs) return;
  const auto draw_ms = [this](uint64_t most) {
    return static_cast<int64_t>(1 + random_.NextBelow(most));
  };
  for (size_t i = 0; i < processes_.size(); ++i) {
    const bool is_server = i < servers_.size();
    const double death = is_server ? scene_.mix.server_death : scene_.mix.worker_death;
    SimulatedProcess& process = *processes_[i];
    if (!process.is_at_work()) continue;
    if (Befalls(death, duration_ms)) {
      ++deaths_;
      process.Die(draw_ms(3000), &random_);
    }
    if (Befalls(scene_.mix.standstill, duration_ms)) process.StandStill(draw_ms(4000));
    if (process.is_at_work() && Befalls(scene_.mix.cut, duration_ms)) {
      process.CutFrom(scene_.addresses[random_.NextBelow(scene_.mix.servers)], draw_ms(5000));
    }
  }
}

// Once nothing more is under way, and before anybody goes.
void Simulation::LookAtEnd() {
  if (was_checked_) return;
  scene_.all_have_finished =
      std::ranges::all_of(workers_, [](const auto& worker) { return worker->is_finished(); });
  if (!std::ranges::all_of(workers_, [](const auto& worker) { return worker->is_quiet(); })) return;
  if (!std::ranges::all_of(servers_, [](const auto& server) { return server->is_serving(); }))
    return;
  if (scene_.refresh == 1) {
    ++scene_.refresh;
    return;
  }
  was_checked_ = true;
  for (uint32_t i = 0; i < scene_.mix.servers; ++i) CheckServer(i);
  for (const auto& worker : workers_) {
    if (worker->has_replica()) CheckReplica(*worker);
  }
  for (const auto& worker : workers_) worker->Leave();
}

void Simulation::CheckServer(uint32_t server) {
  const ModelLayout& layout = scene_.layout;
  const PieceSpec& own = PieceOf(layout, server);
  std::vector<int64_t> counts(scene_.mix.trainers);
  for (const auto& strand : servers_[server]->shard().dense_strands()) {
    const PieceSpec& piece = strand->piece().spec();
    for (int64_t i = 0; i < piece.element_count; ++i) {
      const float begin = server::InitialValue(layout, piece.tensor, piece.begin + i);
      const float moved = begin - strand->piece().values()[static_cast<size_t>(i)];
      const int64_t count = std::lround(moved / server::kDenseRate);
      const bool is_sent = piece.id == own.id && i < std::ssize(scene_.pushes);
      if (is_sent) CheckPush(server, static_cast<size_t>(i), count);
      if (is_sent) counts[scene_.pushes[static_cast<size_t>(i)].trainer] += count;
      if (!is_sent && count != 0) scene_.Violate(StrCat("server ", server, " has made up a push"));
    }
  }
  CheckRows(server, counts);
}

// pushes: of each trainer, as the pieces have them.
void Simulation::CheckRows(uint32_t server, const std::vector<int64_t>& pushes) {
  for (uint32_t trainer = 0; trainer < scene_.mix.trainers; ++trainer) {
    const uint64_t id = RowOf(trainer, server, scene_.mix.servers);
    int64_t count = 0;
    for (const auto& strand : servers_[server]->shard().row_strands()) {
      const auto row = strand->rows().Find(0, id);
      if (row.empty()) continue;
      const float moved = server::InitialRow(scene_.layout, 0, id)[0] - row[0];
      count += std::lround(moved / server::kRowRate);
    }
    if (count == pushes[trainer]) continue;
    scene_.Violate(StrCat("server ", server, " has ", pushes[trainer], " pushes of trainer ",
                          trainer, " in its pieces and ", count, " in its rows"));
  }
}

void Simulation::CheckPush(uint32_t server, size_t element, int64_t count) {
  const SentPush& push = scene_.pushes[element];
  const bool is_durable = workers_[push.trainer]->Durable(server, push.life) >= push.sequence;
  if (count == 1 || (count == 0 && !is_durable)) return;
  scene_.Violate(StrCat("server ", server, " has push ", push.sequence, " of trainer ",
                        push.trainer, " in its life ", push.life, " ", count, " times"));
}

void Simulation::CheckReplica(const SimulatedWorker& worker) {
  const float* const replica = device::OnHost(worker.link().replica());
  for (const auto& server : servers_) {
    for (const auto& strand : server->shard().dense_strands()) {
      const store::Piece& piece = strand->piece();
      const int64_t begin =
          scene_.layout.tensors()[piece.spec().tensor].offset + piece.spec().begin;
      for (size_t i = 0; i < piece.values().size(); ++i) {
        if (replica[static_cast<size_t>(begin) + i] == piece.values()[i]) continue;
        return scene_.Violate("a replica is not what the servers have");
      }
    }
  }
}

}  // namespace weir::simulation
