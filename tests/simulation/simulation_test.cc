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

int CountFound(Plant plant) {
  int found = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    found += Simulation(seed, plant).Run().violation.empty() ? 0 : 1;
  }
  return found;
}

TEST(Simulation, FindsWhatIsPlanted) {
  EXPECT_GT(CountFound(Plant::kNothingSynced), 0);
  EXPECT_GT(CountFound(Plant::kPushTakenTwice), 0);
}

TEST(Simulation, RepeatsItself) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    EXPECT_EQ(Simulation(seed).Run().trace, Simulation(seed).Run().trace) << "seed " << seed;
  }
}

}  // namespace
}  // namespace weir::simulation
