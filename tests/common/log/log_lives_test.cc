// Lives of a writer, each of which may end at any change of the disk, with its machine or alone.
#include <gtest/gtest.h>

#include <algorithm>

#include "common/base/strings.h"
#include "tests/common/log/log_on_a_disk.h"

namespace weir::log {
namespace {

class LogLives : public LogTest {
 protected:
  // Writes, and has a part of it synced, until the disk fails perhaps. What was promised.
  uint64_t Live(uint64_t first_number, RandomStream* random) {
    disk_->FailFrom(random->NextBelow(30) + 1);
    auto writer = Write(first_number, true);
    appended_ = first_number;
    for (int i = 0; i < 20; ++i) {
      if (random->NextBelow(8) == 0) {
        writer->Cut({});
        ++appended_;
      }
      AppendNext(writer.get());
      if (random->NextBelow(3) == 0) writer->Step();
      clock_.Advance(static_cast<int64_t>(random->NextBelow(4)));
    }
    return writer->durable();
  }

  void Die(RandomStream* random) {
    if (random->NextBelow(2) == 0) {
      disk_->EndProcess();
    } else {
      disk_->EndMachine(random);
    }
    disk_->Heal();
  }
};

TEST_F(LogLives, LoseNothingThatWasPromised) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(StrCat("seed ", seed));
    RandomStream random(seed);
    NewDisk();
    uint64_t promised = 0;
    for (int life = 0; life < 6; ++life) {
      const auto read = ReadAll();
      const uint64_t there = read.status().code() == StatusCode::kNotFound ? 0 : read.value();
      ASSERT_GE(there, promised);
      promised = std::max(promised, Live(there + 1, &random));
      Die(&random);
    }
  }
}

}  // namespace
}  // namespace weir::log
