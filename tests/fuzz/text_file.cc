#include "tests/fuzz/text_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <memory>

#include "common/base/bytes.h"
#include "common/base/check.h"
#include "common/base/strings.h"
#include "common/config/defaults.h"
#include "common/config/validate_config.h"
#include "common/layout/model_layout.h"
#include "worker/data/reader.h"

namespace weir::fuzz {
namespace {

// Chunks that are read once more from where they begin.
constexpr int64_t kPlacedChunks = 3;
constexpr size_t kMadeUpBytes = 9;

// A file in memory that has a path.
class MemoryFile {
 public:
  MemoryFile(const uint8_t* bytes, size_t size) : file_(memfd_create("fuzz", 0)) {
    CHECK_GE(file_, 0);
    CHECK_EQ(write(file_, bytes, size), static_cast<ssize_t>(size));
  }
  ~MemoryFile() { close(file_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return StrCat("/proc/self/fd/", file_); }

 private:
  const int file_;
};

void CheckLists(const data::RowBlock& block, size_t row_count) {
  if (block.id_ends.empty()) {
    CHECK_EQ(block.ids.size(), row_count * static_cast<size_t>(block.table_count));
    return;
  }
  CHECK_EQ(block.id_ends.size(), row_count * static_cast<size_t>(block.table_count));
  size_t end = 0;
  for (const auto list_end : block.id_ends) {
    CHECK_GE(list_end, end);
    end = list_end;
  }
  CHECK_EQ(end, block.ids.size());
  CHECK(block.weights.empty() || block.weights.size() == block.ids.size());
}

void CheckRows(const data::RowBlock& block, const data::ChunkResult& result,
               const ModelLayout& layout) {
  const auto row_count = static_cast<size_t>(block.row_count());
  CHECK_GE(result.line_count, std::ssize(block.malformed) + block.row_count());
  CHECK_EQ(block.dense.size(), row_count * static_cast<size_t>(layout.dense_feature_count()));
  CHECK_EQ(static_cast<size_t>(block.table_count), layout.tables().size());
  for (const float label : block.labels) CHECK(label == 0.0f || label == 1.0f);
  for (const float value : block.dense) CHECK(std::isfinite(value));
  CheckLists(block, row_count);
  if (row_count == 0) return;
  data::Batch batch;
  data::MakeBatch(block, 0, block.row_count(), &batch);
  for (size_t table = 0; table < batch.tables.size(); ++table) {
    for (const uint64_t id : batch.tables[table].unique) {
      CHECK_LT(id, static_cast<uint64_t>(layout.tables()[table].row_count));
    }
  }
}

// As a later stage reads the chunk; labels alone.
void CheckColumns(data::Reader& reader, int64_t chunk, const data::RowBlock& whole) {
  data::RowBlock some;
  const data::ColumnChoice choice{
      .dense = false, .ids = false, .hash = true, .malformed = &whole.malformed};
  const auto result = reader.ReadColumns({data::Split::kTrain, 0, 0, chunk}, choice, &some);
  CHECK(result.ok()) << result.status();
  CHECK(some.labels == whole.labels);
  CHECK(some.lines == whole.lines);
}

// As another trainer reads the chunk, from where this one has found it.
void CheckPlace(const v1::Config& config, const data::ChunkId& id, const data::RowBlock& whole) {
  const auto reader = data::MakeReader(config);
  CHECK(reader.ok()) << reader.status();
  data::RowBlock block;
  const auto result = (*reader)->ReadChunk(id, &block);
  CHECK(result.ok()) << result.status();
  CHECK(block.labels == whole.labels);
  CHECK(block.lines == whole.lines);
  CHECK(block.ids == whole.ids);
}

// Where a lease of somebody who makes it up says that a chunk begins: the file's last bytes say it.
data::ChunkId MadeUpId(const uint8_t* bytes, size_t size) {
  ByteReader reader({bytes + size - kMadeUpBytes, kMadeUpBytes});
  const auto small = reader.Get<uint8_t>();
  data::ChunkId id{.chunk = static_cast<int64_t>(reader.Get<uint16_t>())};
  v1::ChunkPlace& place = id.place.emplace();
  place.set_chunk(static_cast<uint64_t>(id.chunk) - small % 4);
  place.set_entry(small < 128 ? reader.Get<uint16_t>() : -uint64_t{reader.Get<uint16_t>()});
  place.set_behind(small < 192 ? reader.Get<uint16_t>() : -uint64_t{reader.Get<uint16_t>()});
  place.set_text_lines(reader.Get<uint16_t>());
  return id;
}

// What comes is of no use, but it is whole.
void CheckMadeUp(const v1::Config& config, const data::ChunkId& id, const ModelLayout& layout) {
  const auto reader = data::MakeReader(config);
  CHECK(reader.ok()) << reader.status();
  data::RowBlock block;
  const auto result = (*reader)->ReadChunk(id, &block);
  if (result.ok()) CheckRows(block, *result, layout);
  const auto next = (*reader)->FindNext(id);
  CHECK(next.ok() || !next.status().message().empty());
}

v1::Config ConfigOf(const v1::DataConfig& data, const std::string& path) {
  v1::Config config;
  *config.mutable_data() = data;
  config.mutable_data()->add_train(path);
  config.mutable_data()->set_batch_size(4);
  config.mutable_data()->set_chunk_batches(2);
  config::FillDefaults(&config);
  CHECK(config::ValidateConfig(config).empty()) << config::ValidateConfig(config)[0];
  return config;
}

}  // namespace

void ReadAsFile(const v1::DataConfig& data, const uint8_t* bytes, size_t size) {
  FLAGS_minloglevel = google::GLOG_ERROR;  // warnings are expected, and writing them takes longest
  const MemoryFile file(bytes, size);
  const v1::Config config = ConfigOf(data, file.path());
  const ModelLayout layout(config, 1);
  const auto reader = data::MakeReader(config);
  if (!reader.ok()) return;
  if (size >= kMadeUpBytes) CheckMadeUp(config, MadeUpId(bytes, size), layout);
  data::RowBlock block;
  for (data::ChunkId id;; ++id.chunk) {
    const auto next = (*reader)->FindNext(id);
    const auto result = (*reader)->ReadChunk({.chunk = id.chunk}, &block);
    if (!result.ok()) return;
    CHECK(next.ok()) << next.status();
    CheckRows(block, *result, layout);
    CheckColumns(**reader, id.chunk, block);
    if (id.place && id.chunk < kPlacedChunks) CheckPlace(config, id, block);
    if (result->end_of_file) return;
    id.place = *next;
  }
}

}  // namespace weir::fuzz
