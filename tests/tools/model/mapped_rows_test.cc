#include "tools/model/mapped_rows.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <utility>

#include "common/base/random.h"

namespace weir::tools {
namespace {

constexpr size_t kRowFloats = 3;

// Rows as frames hold them: at any address.
class FileOfRows {
 public:
  void Add(uint32_t table, const std::vector<uint64_t>& ids, float first, MappedRows* rows) {
    std::vector<float> floats;
    for (size_t i = 0; i < ids.size() * kRowFloats; ++i) {
      floats.push_back(first + static_cast<float>(i));
    }
    Bytes& bytes = frames_.emplace_back(1 + floats.size() * sizeof(float));
    std::memcpy(bytes.data() + 1, floats.data(), bytes.size() - 1);
    rows->Add({table, ids, ByteSpan(bytes).subspan(1), kRowFloats});
  }

 private:
  std::vector<Bytes> frames_;
};

float FirstFloat(const uint8_t* place) {
  float value;
  std::memcpy(&value, place, sizeof(value));
  return value;
}

using RowsByKey = std::map<std::pair<uint32_t, uint64_t>, float>;

// Frames of three tables; some rows come again, and the later ones count.
RowsByKey AddFrames(RandomStream& random, FileOfRows* file, MappedRows* rows) {
  RowsByKey expected;
  for (uint32_t frame = 0; frame < 1000; ++frame) {
    const uint32_t table = frame % 3;
    std::vector<uint64_t> ids = {random.NextBelow(100)};
    while (ids.size() < 50) ids.push_back(ids.back() + 1 + random.NextBelow(2000));
    const auto first = static_cast<float>(frame * 1000);
    file->Add(table, ids, first, rows);
    for (size_t i = 0; i < ids.size(); ++i) {
      expected[{table, ids[i]}] = first + static_cast<float>(i * kRowFloats);
    }
  }
  return expected;
}

TEST(MappedRows, AreFoundOneByOneAndInBatches) {
  RandomStream random(3);
  MappedRows rows(50'000);
  FileOfRows file;
  const RowsByKey expected = AddFrames(random, &file, &rows);
  ASSERT_TRUE(rows.Finish().ok());
  std::vector<store::BatchRow> batch;
  for (const auto& [key, value] : expected) {
    const uint8_t* place = rows.Find(key.first, key.second);
    ASSERT_NE(place, nullptr) << key.first << " " << key.second;
    ASSERT_EQ(FirstFloat(place), value);
    batch.push_back({key.first, 0, key.second});
    batch.push_back({static_cast<uint32_t>(random.NextBelow(4)), 0, random.NextBelow(100'000)});
  }
  std::vector<const uint8_t*> places;
  rows.FindBatch(batch, &places);
  ASSERT_EQ(places.size(), batch.size());
  for (size_t i = 0; i < batch.size(); ++i) {
    const auto found = expected.find({batch[i].table, batch[i].id});
    ASSERT_EQ(places[i] != nullptr, found != expected.end());
    if (places[i] == nullptr) continue;
    ASSERT_EQ(FirstFloat(places[i]), found->second);
  }
}

TEST(MappedRows, MayBeNone) {
  MappedRows rows(0);
  ASSERT_TRUE(rows.Finish().ok());
  EXPECT_EQ(rows.Find(0, 0), nullptr);
  std::vector<const uint8_t*> places = {nullptr};
  rows.FindBatch({}, &places);
  EXPECT_TRUE(places.empty());
}

}  // namespace
}  // namespace weir::tools
