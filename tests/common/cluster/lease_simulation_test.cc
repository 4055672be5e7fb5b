// Trainers that take chunks, work on them row by row, finish, die and come back in an order that a
// seed decides. A failure prints its seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "common/base/random.h"
#include "common/cluster/lease_book.h"

namespace weir::cluster {
namespace {

constexpr uint64_t kLinesPerChunk = 4;
constexpr uint32_t kEpochs = 2;
// Whole chunks, nothing, and a last chunk that is short.
constexpr uint64_t kFileRows[] = {24, 0, 13};
constexpr uint64_t kRows = 37;

struct Trainer {
  bool alive = true;
  std::optional<v1::ChunkLease> lease;
  uint64_t row = 0;       // the next to train, within the chunk
  uint64_t reported = 0;  // rows of the chunk that the book knows to be finished
};

class Simulation {
 public:
  Simulation(uint64_t seed, double death_probability)
      : random_(seed), death_probability_(death_probability), book_(v1::TRAIN, 3, kEpochs) {}

  void Run() {
    for (int event = 0; event < 100'000 && !book_.done(); ++event) {
      const auto index = static_cast<uint32_t>(random_.NextBelow(std::size(trainers_)));
      Act({.trainer = index}, trainers_[index]);
    }
    EXPECT_TRUE(book_.done());
    EXPECT_FALSE(book_.Lend({.trainer = 0}));
  }

  uint64_t repeated_rows() const { return repeated_rows_; }
  const std::map<std::tuple<uint32_t, uint32_t, uint64_t>, int>& trained() const {
    return trained_;
  }

 private:
  void Act(Seat seat, Trainer& trainer) {
    if (!trainer.alive) {
      trainer.alive = random_.NextUnit() < 0.3;
    } else if (random_.NextUnit() < death_probability_) {
      Die(seat, trainer);
    } else if (!trainer.lease) {
      trainer.lease = book_.Lend(seat);
      if (trainer.lease) trainer.row = trainer.reported = trainer.lease->first_row();
    } else if (trainer.row < ChunkRows(*trainer.lease)) {
      ++trained_[{trainer.lease->epoch(), trainer.lease->file(),
                  trainer.lease->chunk() * kLinesPerChunk + trainer.row}];
      ++trainer.row;
      if (random_.NextUnit() < 0.5) {
        book_.Advance(seat, trainer.lease->lease(), trainer.row);
        trainer.reported = trainer.row;
      }
    } else {
      Finish(seat, trainer);
    }
  }

  void Die(Seat seat, Trainer& trainer) {
    trainer.alive = false;
    book_.TakeBack(seat);
    if (!trainer.lease) return;
    repeated_rows_ += trainer.row - trainer.reported;
    EXPECT_FALSE(book_.Finish(seat, trainer.lease->lease()));
    trainer.lease.reset();
  }

  // The end of a file is learnt only with the chunk that showed it.
  void Finish(Seat seat, Trainer& trainer) {
    const uint64_t rows = ChunkRows(*trainer.lease);
    if (rows < kLinesPerChunk) {
      book_.LearnEnd(trainer.lease->file(), trainer.lease->chunk() + (rows > 0 ? 1 : 0));
    }
    EXPECT_TRUE(book_.Finish(seat, trainer.lease->lease()));
    trainer.lease.reset();
  }

  static uint64_t ChunkRows(const v1::ChunkLease& lease) {
    const uint64_t first = lease.chunk() * kLinesPerChunk;
    const uint64_t rows = kFileRows[lease.file()];
    return first >= rows ? 0 : std::min(kLinesPerChunk, rows - first);
  }

  RandomStream random_;
  const double death_probability_;
  LeaseBook book_;
  Trainer trainers_[3];
  std::map<std::tuple<uint32_t, uint32_t, uint64_t>, int> trained_;
  uint64_t repeated_rows_ = 0;
};

TEST(LeaseSimulation, EveryRowIsTrainedExactlyOnceWhenNobodyDies) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Simulation simulation(seed, 0);
    simulation.Run();
    ASSERT_EQ(simulation.trained().size(), kRows * kEpochs) << "seed " << seed;
    for (const auto& [row, times] : simulation.trained()) ASSERT_EQ(times, 1) << "seed " << seed;
  }
}

TEST(LeaseSimulation, ADeathRepeatsOnlyTheRowsThatWereNotReported) {
  uint64_t repeated_rows = 0;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    Simulation simulation(seed, 0.05);
    simulation.Run();
    ASSERT_EQ(simulation.trained().size(), kRows * kEpochs) << "seed " << seed;
    uint64_t times_trained = 0;
    for (const auto& [row, times] : simulation.trained()) {
      times_trained += static_cast<uint64_t>(times);
    }
    ASSERT_EQ(times_trained, kRows * kEpochs + simulation.repeated_rows()) << "seed " << seed;
    repeated_rows += simulation.repeated_rows();
  }
  EXPECT_GT(repeated_rows, 100u) << "deaths must cost something for the test to mean something";
}

}  // namespace
}  // namespace weir::cluster
