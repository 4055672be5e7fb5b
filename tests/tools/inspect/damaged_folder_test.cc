// Every byte of what a server has left flipped, one at a time, and every truncation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "common/base/strings.h"
#include "tests/tools/inspect/written_folder.h"

namespace weir::tools {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class DamagedFolder : public WrittenFolder {
 protected:
  // The bytes are put back.
  template <typename Look>
  void WithFlipped(const std::string& path, size_t at, const Look& look) {
    const auto bit = static_cast<uint8_t>(1u << at % 8);
    files_.Contents(path)->at(at) ^= bit;
    look();
    files_.Contents(path)->at(at) ^= bit;
  }
  template <typename Look>
  void WithCut(const std::string& path, size_t size, const Look& look) {
    Bytes* bytes = files_.Contents(path);
    const Bytes whole = *bytes;
    bytes->resize(size);
    look();
    *files_.Contents(path) = whole;
  }

  void ExpectDamage(const std::string& path) {
    const Status status = Inspect();
    EXPECT_EQ(status.code(), StatusCode::kInvalidData);
    EXPECT_THAT(status.message(), HasSubstr(StrCat(path, " at byte ")));
    EXPECT_THAT(text_, HasSubstr("damaged: "));
  }
  void ExpectTornAt(uint64_t begin, uint64_t end) {
    EXPECT_TRUE(Inspect().ok());
    EXPECT_THAT(text_, HasSubstr(StrCat("torn end: ", end - begin, " bytes from byte ", begin)));
  }
};

TEST_F(DamagedFolder, IsWholeBefore) {
  EXPECT_TRUE(Inspect().ok()) << text_;
  EXPECT_EQ(Segments().size(), 3u);
  EXPECT_EQ(Snapshots().size(), 2u);
  EXPECT_THAT(text_, HasSubstr("whole: after step 8, 1 sections, 0 rows\n"));
  EXPECT_THAT(text_, Not(HasSubstr("torn")));
  EXPECT_THAT(text_, Not(HasSubstr("damaged")));
}

// Nobody knew of the last record yet when the process ended, as far as the files tell.
TEST_F(DamagedFolder, EveryByteOfTheLogFlipped) {
  for (const log::Segment& file : Segments()) {
    const auto bounds = Bounds(file.path, file.first_number);
    const bool is_last = file.path == Segments().back().path;
    for (size_t at = 0; at < bounds.back(); ++at) {
      SCOPED_TRACE(StrCat(file.path, " byte ", at));
      WithFlipped(file.path, at, [&] {
        const uint64_t last = bounds[bounds.size() - 2];
        if (is_last && at >= last) {
          ExpectTornAt(last, bounds.back());
        } else {
          ExpectDamage(file.path);
        }
      });
      if (HasFailure()) return;
    }
  }
}

TEST_F(DamagedFolder, DamageIsWhereTheRecordBegins) {
  const log::Segment file = Segments().back();
  const auto bounds = Bounds(file.path, file.first_number);
  ASSERT_GE(bounds.size(), 4u);
  WithFlipped(file.path, bounds[2] - 1, [&] {
    EXPECT_THAT(Inspect().message(),
                HasSubstr(StrCat(file.path, " at byte ", bounds[1], ": record ",
                                 file.first_number + 1, " is damaged")));
    EXPECT_THAT(text_, HasSubstr("a restart   is refused: "));
  });
}

// A log that ends with a whole record is one that ends there.
TEST_F(DamagedFolder, EveryTruncationOfTheLog) {
  for (const log::Segment& file : Segments()) {
    const auto bounds = Bounds(file.path, file.first_number);
    const bool is_last = file.path == Segments().back().path;
    for (size_t size = 0; size < bounds.back(); ++size) {
      SCOPED_TRACE(StrCat(file.path, " of ", size, " bytes"));
      const auto behind = std::ranges::upper_bound(bounds, size);
      const uint64_t begin = *std::prev(behind);
      WithCut(file.path, size, [&] {
        if (!is_last) {
          ExpectDamage(file.path);
        } else if (begin < size) {
          ExpectTornAt(begin, size);
        } else {
          const auto count = static_cast<uint64_t>(behind - bounds.begin() - 1);
          EXPECT_TRUE(Inspect().ok());
          EXPECT_THAT(text_, HasSubstr(StrCat("behind record ", file.first_number + count - 1)));
        }
      });
      if (HasFailure()) return;
    }
  }
}

TEST_F(DamagedFolder, EveryByteOfASnapshotFlippedAndEveryTruncation) {
  const log::Snapshot snapshot = Snapshots().back();
  const size_t size = files_.Contents(snapshot.path)->size();
  for (size_t at = 0; at < size; ++at) {
    SCOPED_TRACE(StrCat("byte ", at));
    WithFlipped(snapshot.path, at, [&] { ExpectDamage(snapshot.path); });
    WithCut(snapshot.path, at, [&] { ExpectDamage(snapshot.path); });
    if (HasFailure()) return;
  }
}

TEST_F(DamagedFolder, TheSnapshotBeforeIsWhatARestartUses) {
  const auto snapshots = Snapshots();
  ASSERT_EQ(snapshots.size(), 2u);
  const std::string former = snapshots[0].path.substr(sizeof(kFolder));
  WithFlipped(snapshots[1].path, 50, [&] {
    EXPECT_FALSE(Inspect().ok());
    EXPECT_THAT(text_, AllOf(HasSubstr("not whole\n"),
                             HasSubstr(StrCat("a restart   goes on from ", former, " and "))));
  });
}

TEST_F(DamagedFolder, BytesBehindASnapshot) {
  files_.Contents(Snapshots().back().path)->push_back(0);
  EXPECT_THAT(Inspect().message(), HasSubstr("bytes behind the end of the snapshot"));
}

TEST_F(DamagedFolder, AFileOfTheLogIsMissing) {
  ASSERT_TRUE(files_.Remove(Segments().back().path).ok());
  EXPECT_THAT(Inspect().message(), HasSubstr(" is not there, behind /data/snapshot-"));
  EXPECT_THAT(text_, HasSubstr("a restart   is refused: "));
}

TEST_F(DamagedFolder, EveryDamageIsTold) {
  for (const log::Segment& file : Segments()) files_.Contents(file.path)->at(0) ^= 1;
  for (const log::Snapshot& snapshot : Snapshots()) files_.Contents(snapshot.path)->at(0) ^= 1;
  const std::string message = Inspect().message();
  for (const log::Segment& file : Segments()) EXPECT_THAT(message, HasSubstr(file.path));
  for (const log::Snapshot& snapshot : Snapshots()) {
    EXPECT_THAT(message, HasSubstr(snapshot.path));
  }
}

}  // namespace
}  // namespace weir::tools
