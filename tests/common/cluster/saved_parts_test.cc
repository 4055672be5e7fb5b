#include "common/cluster/saved_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "common/cluster/membership.h"
#include "common/cluster/saved_map.h"

namespace weir::cluster {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

// Writes down what it is told.
class ToldParts final : public SavedParts {
 public:
  void Put(std::string name, Bytes state) override {
    EXPECT_FALSE(state.empty());
    told.emplace_back("+" + name);
  }
  void Remove(std::string name) override { told.emplace_back("-" + name); }

  std::vector<std::string> told;
};

TEST(SavedMap, TellsOfWhatHasChanged) {
  SavedMap<Seat, uint32_t> map("seat");
  map.Change({0, 1}) = 5;
  map.Add({2, 0}, 6);
  map.Add({3, 0});
  map.Erase({3, 0});
  ToldParts parts;
  map.SaveChanges(&parts);
  EXPECT_THAT(std::exchange(parts.told, {}), ElementsAre("+seat/0/1", "+seat/2/0"));
  map.SaveChanges(&parts);
  EXPECT_FALSE(map.Add({2, 0}, 7));
  EXPECT_FALSE(map.Erase({9, 9}));
  *map.FindUnsaved({2, 0}) = 8;
  map.SaveChanges(&parts);
  EXPECT_THAT(parts.told, ElementsAre());
  map.Change({0, 1}) = 6;
  map.Change({4, 0}) = 1;
  map.Erase({2, 0});
  map.SaveChanges(&parts);
  EXPECT_THAT(std::exchange(parts.told, {}), ElementsAre("+seat/0/1", "-seat/2/0", "+seat/4/0"));
  map.Clear();
  map.SaveChanges(&parts);
  EXPECT_THAT(parts.told, ElementsAre("-seat/0/1", "-seat/4/0"));
}

TEST(SavedMap, IsLoadedFromItsPartsAlone) {
  const PartMap parts = {{"set/4", {9}}, {"seat/0/1", {5}}, {"seat/10/1", {6}}, {"seats", {7}}};
  SavedMap<Seat, uint32_t> map("seat");
  PartSource source(parts);
  ASSERT_TRUE(map.Load(&source).ok());
  EXPECT_THAT(map.values(), ElementsAre(Pair(Seat{0, 1}, 5u), Pair(Seat{10, 1}, 6u)));
  EXPECT_THAT(source.CheckAllWereTaken().message(), HasSubstr("2 parts are unknown"));
}

TEST(SavedMap, RefusesNamesThatItWouldNotWrite) {
  for (const char* name :
       {"seat/", "seat/1", "seat/1/", "seat/1/2/3", "seat/01/2", "seat/+1/2", "seat/ 1/2",
        "seat/1/x", "seat/1//2", "seat/4294967296/0", "seat//1/2"}) {
    const PartMap parts = {{name, {5}}};
    SavedMap<Seat, uint32_t> map("seat");
    PartSource source(parts);
    EXPECT_EQ(map.Load(&source).code(), StatusCode::kInvalidData) << name;
  }
}

TEST(WholePart, IsWrittenWhenItIsAnother) {
  WholePart part("all");
  ToldParts parts;
  part.SaveChanges(uint32_t{0}, &parts);
  part.SaveChanges(uint32_t{0}, &parts);
  EXPECT_THAT(parts.told, ElementsAre("+all"));
  part.SaveChanges(uint32_t{1}, &parts);
  EXPECT_THAT(parts.told, ElementsAre("+all", "+all"));
}

TEST(WholePart, IsMissedWhenItIsNotThere) {
  const PartMap parts;
  PartSource source(parts);
  uint32_t value = 0;
  EXPECT_THAT(WholePart("all").Load(&source, &value).message(), HasSubstr("lacks \"all\""));
}

TEST(PartsUnder, KeepTwoOfAKindApart) {
  KeptParts kept;
  for (const uint32_t value : {1, 2}) {
    PartsUnder under(value == 1 ? "one/" : "two/", &kept);
    WholePart("all").SaveChanges(value, &under);
    under.Put("gone", {1});
    under.Remove("gone");
  }
  EXPECT_THAT(kept.parts(), ElementsAre(Pair("one/all", Bytes{1}), Pair("two/all", Bytes{2})));
  PartSource source(kept.parts());
  PartSource two("two/", &source);
  uint32_t value = 0;
  ASSERT_TRUE(WholePart("all").Load(&two, &value).ok());
  EXPECT_EQ(value, 2u);
  EXPECT_FALSE(source.CheckAllWereTaken().ok());
  PartSource one("one/", &source);
  ASSERT_TRUE(WholePart("all").Load(&one, &value).ok());
  EXPECT_TRUE(source.CheckAllWereTaken().ok());
}

}  // namespace
}  // namespace weir::cluster
