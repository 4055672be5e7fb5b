// Many runs of the real servers and links, each with faults of its own. A seed that fails is named,
// and fails again: see tools/simulate.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <string>

#include "common/base/clock.h"
#include "tests/simulation/simulation.h"

namespace weir::simulation {
namespace {

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST(Simulation, NothingIsLostOrTakenTwice) {
  const uint64_t first = FromEnvironment("WEIR_FIRST_SEED", 1);
  const uint64_t count = FromEnvironment("WEIR_SEEDS", 200);
  const double begin = MonotonicSeconds();
  uint64_t trace = 0;
  double simulated_ms = 0;
  int64_t deaths = 0, pushes = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const Outcome outcome = Simulation(seed).Run();
    EXPECT_EQ(outcome.violation, "") << "seed " << seed;
    trace = KeyedHash(trace, outcome.trace);
    simulated_ms += static_cast<double>(outcome.duration_ms);
    deaths += outcome.deaths;
    pushes += outcome.pushes;
  }
  const double hours = simulated_ms / 3'600'000;
  std::cout << count << " seeds from " << first << " on: " << hours << " simulated hours, "
            << hours / (MonotonicSeconds() - begin) << " in each second, " << deaths << " deaths, "
            << pushes << " pushes; trace " << std::hex << trace << std::dec << "\n";
}

// And the seeds within which it has to be found.
struct Planted {
  Plant plant;
  const char* name;
  uint64_t seeds;
};

constexpr Planted kPlanted[] = {
    {Plant::kNothingSynced, "nothing is synced", 40},
    {Plant::kSyncLies, "files that were synced are not", 40},
    {Plant::kNamesNotSynced, "names that were synced are not", 40},
    {Plant::kSnapshotsNotSynced, "snapshots are renamed before they are synced", 400},
    {Plant::kWritesHeldBack, "answers leave before their record is written", 40},
    {Plant::kBytesRot, "bytes of the log rot", 40},
    {Plant::kPromisedTooEarly, "more is told to be durable than is", 400},
    {Plant::kAnsweredTooEarly, "a push counts as answered before it is", 40},
    {Plant::kTakenTooHigh, "a push counts as taken before it is", 40},
    {Plant::kAnswerWithoutValues, "answers lack what has changed", 40},
    {Plant::kLeaseLentTwice, "a chunk is lent twice, another never", 40},
    {Plant::kMemberLeftOut, "a round is said to have fewer members", 100},
    {Plant::kSeatGrantedTwice, "two processes get one seat", 40},
    {Plant::kEpochKept, "a server comes again as if it had not ended", 400},
    {Plant::kPushTakenTwice, "a push is taken twice", 40},
    {Plant::kDoneTooEarly, "chunks are done before their pushes are taken", 200},
    {Plant::kAcceptedTooEarly, "rows count as done once they are pushed", 800},
    {Plant::kReadyTooEarly, "stages are said to be there that are not", 40},
    {Plant::kGenerationKept, "stages hear nothing of others that come again", 40},
    {Plant::kOldBatchHandedOn, "batches that were dropped are handed on", 40},
    {Plant::kDroppedIsTrained, "batches that were dropped count as trained", 40},
    {Plant::kReplacedIsTaken, "who was replaced is taken for who came in its place", 200},
    {Plant::kNeverBusy, "stages say that they have pushed all that they have", 200},
    {Plant::kTestsUnrefreshed, "stages test without what others have pushed", 40},
    {Plant::kClockGoesBack, "a clock goes back", 40},
};

bool IsOfStages(Plant plant) {
  return plant >= Plant::kReadyTooEarly && plant <= Plant::kTestsUnrefreshed;
}

// Elsewhere it cannot be found, and such runs are left out.
bool MayShow(const Mix& mix) {
  if (IsOfStages(mix.plant)) return mix.is_in_stages();
  if (mix.plant != Plant::kAcceptedTooEarly) return true;
  // One server is held up while another one answers.
  return mix.servers > 1 && mix.disk_failure > 0 && !mix.in_rounds && !mix.is_in_stages();
}

uint64_t FirstFound(const Planted& planted) {
  for (uint64_t seed = 1; seed <= planted.seeds; ++seed) {
    if (!MayShow(DrawMix(seed, planted.plant))) continue;
    const std::string violation = Simulation(seed, planted.plant).Run().violation;
    if (violation.empty()) continue;
    std::cout << planted.name << ": found with seed " << seed << ", " << violation << "\n";
    return seed;
  }
  return UINT64_MAX;
}

TEST(Simulation, FindsWhatIsPlanted) {
  for (const Planted& planted : kPlanted) {
    EXPECT_LE(FirstFound(planted), planted.seeds) << planted.name;
  }
}

TEST(Simulation, RepeatsItself) {
  for (uint64_t seed = 1; seed <= 15; ++seed) {
    EXPECT_EQ(Simulation(seed).Run().trace, Simulation(seed).Run().trace) << "seed " << seed;
  }
}

}  // namespace
}  // namespace weir::simulation
