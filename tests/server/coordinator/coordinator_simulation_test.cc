// The coordinator under thousands of trainers: every row is trained once, nobody asks for nothing
// again and again, and the run ends for everybody.
#include <gtest/gtest.h>

#include "tests/support/simulated_trainers.h"

namespace weir::server {
namespace {

class CoordinatorSimulation : public testing::TestWithParam<uint64_t> {
 protected:
  static constexpr int64_t kHourMs = 3'600'000;

  static void ExpectEveryRowOnce(const SimulatedTrainers& run, uint64_t chunks) {
    EXPECT_TRUE(run.over());
    EXPECT_EQ(run.failure(), "");
    EXPECT_EQ(run.samples(), 10 * chunks);
    EXPECT_EQ(run.rows_of_chunks().size(), chunks);
    for (const auto& [chunk, rows] : run.rows_of_chunks()) EXPECT_EQ(rows, 10u) << chunk;
  }
};

TEST_P(CoordinatorSimulation, ThreeThousandTrainersTrainEveryRowOnceAndLeave) {
  constexpr uint32_t kTrainers = 3000;
  constexpr uint64_t kChunks = 6000;
  SimulatedTrainers run(kTrainers, kChunks, 0, {}, GetParam());
  run.Run(kHourMs);
  ExpectEveryRowOnce(run, kChunks);
  EXPECT_EQ(run.reported_steps(), kChunks) << "the report waits for what all have counted";
  EXPECT_EQ(run.left(), kTrainers);
  // One for each chunk, one for the end of the file, a report, and a few while the last ones work.
  EXPECT_LE(run.requests(), kChunks + 4 * kTrainers);
}

TEST_P(CoordinatorSimulation, SoDoThoseOfWhichSomeDieLeaveAndHearNothing) {
  constexpr uint64_t kChunks = 4000;
  SimulatedTrainers run(2000, kChunks, 0, {.loses_reply = 0.05, .dies = 0.02, .leaves = 0.01},
                        GetParam());
  run.Run(kHourMs);
  ExpectEveryRowOnce(run, kChunks);
}

// Who may not work yet asks no oftener than a reply is held: 1.4 seconds.
TEST_P(CoordinatorSimulation, FiveThousandOfWhichFewMayWorkAskSeldom) {
  constexpr uint32_t kTrainers = 5000;
  constexpr uint64_t kChunks = 150;
  SimulatedTrainers run(kTrainers, kChunks, 20, {.loses_reply = 0.01}, GetParam());
  run.Run(kHourMs);
  ExpectEveryRowOnce(run, kChunks);
  EXPECT_EQ(run.left(), kTrainers);
  const auto seconds = static_cast<uint64_t>(run.now_ms()) / 1000;
  EXPECT_LE(run.requests(), 2 * kChunks + kTrainers * (3 + seconds));
}

INSTANTIATE_TEST_SUITE_P(Seeds, CoordinatorSimulation, testing::Values(1));

}  // namespace
}  // namespace weir::server
