// Chunks that are read from where another trainer has found that they begin.
#include "worker/data/chunk_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/random.h"
#include "common/config/defaults.h"
#include "tests/worker/data/data_files.h"
#include "tests/worker/data/text_examples.h"
#include "worker/data/reader.h"

namespace weir::data {
namespace {

constexpr int64_t kLines = 4;  // of a chunk

class ChunkPlaceTest : public DataFilesTest {
 protected:
  static std::unique_ptr<Reader> Make(const TextExample& example, const std::string& path) {
    v1::Config config = example.config;
    config.mutable_data()->add_train(path);
    config.mutable_data()->set_batch_size(2);
    config.mutable_data()->set_chunk_batches(kLines / 2);
    config::FillDefaults(&config);
    auto reader = MakeReader(config);
    CHECK(reader.ok()) << example.name << ": " << reader.status();
    return *std::move(reader);
  }

  // Members, or frames, that end anywhere.
  template <typename WriteMember>
  std::string InMembers(const std::string& name, const std::string& text, size_t member_bytes,
                        const WriteMember& write) const {
    for (size_t begin = 0; begin < text.size(); begin += member_bytes) {
      write(name, text.substr(begin, member_bytes));
    }
    return Path(name);
  }
  // The text plain, and packed in one member, and in some.
  std::vector<std::string> Files(const std::string& name, const std::string& text) const {
    const auto gzip = [this](auto n, auto t) { return WriteGzip(n, t); };
    const auto zstd = [this](auto n, auto t) { return WriteZstd(n, t); };
    return {Write(name, text), WriteGzip(name + ".gz", text), WriteZstd(name + ".zst", text),
            InMembers(name + "-members.gz", text, 333, gzip),
            InMembers(name + "-members.zst", text, 333, zstd)};
  }

  static ChunkResult Read(Reader* reader, const ChunkId& id, RowBlock* block) {
    const auto result = reader->ReadColumns(id, {.hash = true}, block);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? *result : ChunkResult{.end_of_file = true, .problems = {}};
  }

  static std::optional<v1::ChunkPlace> FindNext(Reader* reader, const ChunkId& id) {
    const auto found = reader->FindNext(id);
    EXPECT_TRUE(found.ok()) << found.status();
    return found.ok() ? *found : std::nullopt;
  }

  static void ExpectSame(const RowBlock& a, const RowBlock& b) {
    EXPECT_EQ(a.labels, b.labels);
    EXPECT_EQ(a.dense, b.dense);
    EXPECT_EQ(a.ids, b.ids);
    EXPECT_EQ(a.lines, b.lines);
    EXPECT_EQ(a.malformed, b.malformed);
    EXPECT_EQ(a.hash, b.hash);
  }

  // A reader that has read nothing yet goes over no line, unless the file is of one member.
  static void ExpectReadAtOnce(Reader* reader, const ChunkId& id, const RowBlock& expected) {
    RowBlock block;
    Read(reader, id, &block);
    ExpectSame(expected, block);
    const bool is_near = !id.place || id.place->entry() > 0;
    EXPECT_EQ(reader->passed_lines(), is_near ? 0 : id.chunk * kLines);
  }
};

TEST_F(ChunkPlaceTest, AChunkReadFromItsPlaceIsTheChunk) {
  for (const TextExample& example : TextExamples()) {
    for (const std::string& path : Files(example.name, example.text)) {
      SCOPED_TRACE(path);
      const auto scanning = Make(example, path), finding = Make(example, path);
      ChunkId id;
      for (bool at_end = false; !at_end; ++id.chunk) {
        SCOPED_TRACE(id.chunk);
        RowBlock scanned, found;
        const auto next = FindNext(finding.get(), id);
        at_end = Read(scanning.get(), {.chunk = id.chunk}, &scanned).end_of_file;
        EXPECT_EQ(next.has_value(), !at_end);
        EXPECT_EQ(Read(finding.get(), id, &found).end_of_file, at_end);
        ExpectSame(scanned, found);
        ExpectReadAtOnce(Make(example, path).get(), id, scanned);
        id.place = next;
      }
      EXPECT_GT(id.chunk, 4);
    }
  }
}

// Steps ahead and back, from places that are near, far or not there.
TEST_F(ChunkPlaceTest, ChunksAreTheSameInAnyOrder) {
  for (const TextExample& example : TextExamples()) {
    for (const std::string& path : Files(example.name, example.text)) {
      SCOPED_TRACE(path);
      std::vector<RowBlock> chunks;
      std::vector<v1::ChunkPlace> places;
      const auto first = Make(example, path);
      for (bool at_end = false; !at_end;) {
        const ChunkId id{.chunk = std::ssize(chunks)};
        if (const auto next = FindNext(first.get(), id)) places.push_back(*next);
        at_end = Read(first.get(), id, &chunks.emplace_back()).end_of_file;
      }
      RandomStream random(1);
      const auto reader = Make(example, path);
      for (int i = 0; i < 30; ++i) {
        ChunkId id{.chunk = static_cast<int64_t>(random.NextBelow(chunks.size()))};
        if (random.NextUnit() < 0.8) id.place = places[random.NextBelow(places.size())];
        RowBlock block;
        if (random.NextUnit() < 0.5) FindNext(reader.get(), id);
        Read(reader.get(), id, &block);
        ExpectSame(chunks[static_cast<size_t>(id.chunk)], block);
      }
    }
  }
}

TEST_F(ChunkPlaceTest, FromAMemberOnTheWayIsShort) {
  const TextExample example{"criteo", CriteoLines(0, 3000), CriteoConfig({})};
  const auto write = [this](auto n, auto t) { return WriteGzip(n, t); };
  const std::string path = InMembers("members.gz", example.text, 20'000, write);
  const auto finding = Make(example, path);
  ChunkId id{.chunk = 700};
  id.place = FindNext(finding.get(), {.chunk = 699});
  ASSERT_TRUE(id.place);
  EXPECT_GT(id.place->entry(), 0u);
  EXPECT_LT(id.place->behind(), 20'000u);
  const auto reader = Make(example, path);
  RowBlock block, expected;
  Read(reader.get(), id, &block);
  EXPECT_EQ(reader->passed_lines(), 0);
  Read(finding.get(), {.chunk = 700}, &expected);
  ExpectSame(expected, block);
}

TEST_F(ChunkPlaceTest, AWrongPlaceIsPassedOverAndTheNextOnesToo) {
  const TextExample example{"criteo", CriteoLines(0, 40), CriteoConfig({})};
  for (const std::string& path : Files("f", example.text)) {
    const auto finding = Make(example, path);
    RowBlock expected, block;
    const auto place = FindNext(finding.get(), {.chunk = 4});
    Read(finding.get(), {.chunk = 6}, &expected);
    for (const uint64_t entry : {place->entry() + 1, uint64_t{1} << 40, UINT64_MAX}) {
      const auto reader = Make(example, path);
      ChunkId id{.chunk = 6, .place = *place};
      id.place->set_entry(entry);
      Read(reader.get(), id, &block);
      ExpectSame(expected, block);
      EXPECT_EQ(reader->passed_lines(), 24) << path;
    }
    const auto reader = Make(example, path);
    ChunkId id{.chunk = 6, .place = *place};
    id.place->set_behind(place->behind() + 1);
    Read(reader.get(), id, &block);
    ExpectSame(expected, block);
  }
}

TEST_F(ChunkPlaceTest, WhatCannotBeAPlaceIsNone) {
  v1::ChunkPlace place;
  place.set_chunk(2);
  place.set_entry(100);
  place.set_text_lines(21);
  EXPECT_EQ(ToLinePlace(place, 10, 20, 1)->line_count, 21);
  EXPECT_FALSE(ToLinePlace(place, 10, 19, 1)) << "behind the line";
  EXPECT_FALSE(ToLinePlace(place, 10, 20, 2)) << "fewer newlines than lines";
  place.set_text_lines(UINT64_MAX);
  EXPECT_FALSE(ToLinePlace(place, 10, 20, 1));
  place.set_text_lines(21);
  for (const uint64_t chunk : {uint64_t{0}, UINT64_MAX}) {
    place.set_chunk(chunk);
    EXPECT_FALSE(ToLinePlace(place, 10, 20, 1)) << chunk;
  }
}

}  // namespace
}  // namespace weir::data
