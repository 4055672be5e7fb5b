#include "common/cluster/state_reader.h"

#include <gtest/gtest.h>

#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/cluster/membership.h"
#include "common/proto/protocol.pb.h"

namespace weir::cluster {
namespace {

struct Everything {
  uint64_t large = 0;
  uint8_t small = 0;
  int64_t time_ms = 0;
  bool is = false;
  float part = 0;
  std::string text;
  std::optional<uint32_t> perhaps;
  std::vector<std::string> list;
  std::deque<Seat> seats;
  std::set<Seat> unique;
  std::map<uint32_t, std::set<uint64_t>> map;
  v1::Departure message;

  static void Fields(auto& self, auto& state) {
    state(self.large, self.small, self.time_ms, self.is, self.part, self.text, self.perhaps);
    state(self.list, self.seats, self.unique, self.map, self.message);
  }
  bool IsSound() const { return small != 13; }
};

Everything Filled() {
  Everything all{.large = std::numeric_limits<uint64_t>::max(),
                 .small = 255,
                 .time_ms = 1'000'000'000'000,
                 .is = true,
                 .part = 0.5f,
                 .text = std::string("a\0\xff", 3),
                 .perhaps = 0,
                 .list = {"", "b"},
                 .seats = {{1, 2}, {0, 0}},
                 .unique = {{0, 1}, {3, 0}},
                 .map = {{1, {}}, {2, {5, 6}}},
                 .message = {}};
  all.message.set_trainer(7);
  return all;
}

bool Reads(const Bytes& bytes, Everything* all) {
  StateReader state(bytes);
  state(*all);
  return state.done();
}

TEST(State, IsReadAsItWasWritten) {
  for (const Everything& all : {Everything(), Filled()}) {
    const Bytes bytes = WriteState(all);
    Everything read = Filled();
    ASSERT_TRUE(Reads(bytes, &read));
    EXPECT_EQ(WriteState(read), bytes);
  }
  Everything read;
  ASSERT_TRUE(Reads(WriteState(Filled()), &read));
  EXPECT_EQ(read.text, Filled().text);
  EXPECT_EQ(read.seats, Filled().seats);
  EXPECT_EQ(read.map, Filled().map);
  EXPECT_EQ(read.message.trainer(), 7u);
}

TEST(State, RefusesWhatIsTooShortOrTooLong) {
  Bytes bytes = WriteState(Filled());
  Everything read;
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(Reads({bytes.begin(), bytes.begin() + static_cast<int64_t>(size)}, &read)) << size;
  }
  bytes.push_back(0);
  EXPECT_FALSE(Reads(bytes, &read));
}

template <typename Written, typename Read>
bool Fits(const Written& written) {
  const Bytes bytes = WriteState(written);
  StateReader state(bytes);
  Read read{};
  state(read);
  return state.done();
}

TEST(State, RefusesNumbersThatDoNotFit) {
  EXPECT_TRUE((Fits<uint64_t, uint8_t>(255)));
  EXPECT_FALSE((Fits<uint64_t, uint8_t>(256)));
  EXPECT_FALSE((Fits<uint64_t, bool>(2)));
  EXPECT_FALSE((Fits<uint64_t, uint32_t>(uint64_t{1} << 32)));
  EXPECT_TRUE((Fits<int64_t, int64_t>(-1)));
  EXPECT_FALSE((Fits<int64_t, int64_t>(int64_t{1} << 61))) << "no time";
}

TEST(State, RefusesKeysThatDoNotAscend) {
  using List = std::vector<uint32_t>;
  EXPECT_TRUE((Fits<List, std::set<uint32_t>>({1, 2})));
  EXPECT_FALSE((Fits<List, std::set<uint32_t>>({2, 1})));
  EXPECT_FALSE((Fits<List, std::set<uint32_t>>({1, 1})));
}

// A count that memory could not hold.
TEST(State, RefusesMoreThanThereIs) {
  Bytes bytes;
  ByteWriter(bytes).PutVarint(uint64_t{1} << 60);
  StateReader state(bytes);
  std::vector<std::string> list;
  state(list);
  EXPECT_FALSE(state.done());
  EXPECT_TRUE(list.empty());
}

TEST(State, RefusesWhatATypeSaysCannotBe) {
  Everything all = Filled();
  all.small = 13;
  Everything read;
  EXPECT_FALSE(Reads(WriteState(all), &read));
}

}  // namespace
}  // namespace weir::cluster
