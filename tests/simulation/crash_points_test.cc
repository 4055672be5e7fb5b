// One short run, again and again: each time a server ends in the midst of another change of its
// disk, as a process or with its machine, and is started again; or a stage of a trainer ends before
// another thing that it does with a batch.
#include <gtest/gtest.h>

#include <tuple>

#include "tests/simulation/simulation.h"

namespace weir::simulation {
namespace {

enum class Kind { kProcess, kMachine, kMachineInRounds, kMachineOfStages };

Mix ShortRun(Kind kind) {
  Mix mix;
  mix.servers = 2;
  mix.chunks = 4;
  mix.snapshot_bytes = 700;
  mix.batch_ms = 30;
  mix.commit_ms = 40;
  mix.machines_end = kind != Kind::kProcess;
  mix.in_rounds = kind == Kind::kMachineInRounds;
  if (mix.in_rounds) mix.trainers = 2;
  mix.splits_bottom = kind == Kind::kMachineOfStages;
  return mix;
}

// Of a whole run; nothing where that is not as it has to be.
uint64_t CountChanges(const Mix& mix, uint32_t server) {
  Simulation simulation(mix);
  return simulation.Run().violation.empty() ? simulation.server(server).disk_changes() : 0;
}

Outcome CrashAt(const Mix& mix, uint32_t server, uint64_t change) {
  Simulation simulation(mix);
  simulation.server(server).CrashAt(change);
  return simulation.Run();
}

class CrashPoints : public testing::TestWithParam<std::tuple<Kind, uint32_t>> {};

TEST_P(CrashPoints, AreAllSurvived) {
  const auto [kind, server] = GetParam();
  const Mix mix = ShortRun(kind);
  const uint64_t changes = CountChanges(mix, server);
  EXPECT_GT(changes, 30u);
  for (uint64_t change = 1; change <= changes; ++change) {
    const Outcome outcome = CrashAt(mix, server, change);
    EXPECT_EQ(outcome.violation, "") << "change " << change;
    EXPECT_EQ(outcome.deaths, 1) << "change " << change;
  }
}

Mix RunOfStages() {
  Mix mix = ShortRun(Kind::kMachineOfStages);
  mix.splits_top = true;
  mix.in_flight = 2;
  return mix;
}

uint64_t CountDeeds(uint32_t stage) {
  Simulation simulation(RunOfStages());
  return simulation.Run().violation.empty() ? simulation.stage(stage).deeds() : 0;
}

class CrashPointsOfStages : public testing::TestWithParam<uint32_t> {};

TEST_P(CrashPointsOfStages, AreAllSurvived) {
  const uint64_t deeds = CountDeeds(GetParam());
  EXPECT_GT(deeds, 20u);
  for (uint64_t deed = 0; deed < deeds; ++deed) {
    Simulation simulation(RunOfStages());
    simulation.stage(GetParam()).CrashAt(deed);
    const Outcome outcome = simulation.Run();
    EXPECT_EQ(outcome.violation, "") << "deed " << deed;
    EXPECT_EQ(outcome.deaths, 1) << "deed " << deed;
  }
}

INSTANTIATE_TEST_SUITE_P(All, CrashPointsOfStages, testing::Values(0, 1, 2));

TEST(CrashPointsOfADisk, FindWhatIsPlanted) {
  for (const Plant plant : {Plant::kSyncLies, Plant::kNamesNotSynced, Plant::kWritesHeldBack}) {
    Mix mix = ShortRun(plant == Plant::kWritesHeldBack ? Kind::kProcess : Kind::kMachine);
    const uint64_t changes = CountChanges(mix, 0);
    mix.plant = plant;
    uint64_t change = 1;
    while (change <= changes && CrashAt(mix, 0, change).violation.empty()) ++change;
    EXPECT_LE(change, changes) << static_cast<int>(plant);
  }
}

std::string NameOf(const testing::TestParamInfo<std::tuple<Kind, uint32_t>>& info) {
  constexpr const char* kNames[] = {"Process", "Machine", "MachineInRounds", "MachineOfStages"};
  const auto [kind, server] = info.param;
  return StrCat(kNames[static_cast<int>(kind)], "OfServer", server);
}

INSTANTIATE_TEST_SUITE_P(All, CrashPoints,
                         testing::Combine(testing::Values(Kind::kProcess, Kind::kMachine,
                                                          Kind::kMachineInRounds,
                                                          Kind::kMachineOfStages),
                                          testing::Values(0, 1)),
                         NameOf);

}  // namespace
}  // namespace weir::simulation
