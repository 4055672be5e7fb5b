#include "worker/pipeline/chunk_rows.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "common/base/random.h"
#include "common/base/strings.h"

namespace weir::worker {
namespace {

// The first stage is in two chunks at most, and its batches come back out of order.
constexpr size_t kKeptChunks = 4;

bool IsSame(const data::ChunkId& a, const data::ChunkId& b) {
  return a.split == b.split && a.epoch == b.epoch && a.file == b.file && a.chunk == b.chunk;
}

}  // namespace

uint64_t LabelsHash(const data::Batch& batch) {
  uint64_t hash = Mix64(batch.labels.size());
  for (const float label : batch.labels) hash = Mix64(hash ^ std::bit_cast<uint32_t>(label));
  return hash;
}

Result<std::shared_ptr<const data::RowBlock>> ChunkRows::Find(const v1::BatchName& name) {
  const data::ChunkId id{name.split() == v1::TEST ? data::Split::kTest : data::Split::kTrain,
                         static_cast<int32_t>(name.epoch()), static_cast<int32_t>(name.file()),
                         static_cast<int64_t>(name.chunk())};
  if (id.file < 0 || id.file >= reader_->file_count(id.split) || id.chunk < 0 || id.epoch < 0) {
    return InvalidData(StrCat("a batch of file ", name.file(), ", which is not among the data"));
  }
  std::lock_guard lock(mutex_);
  auto found = std::ranges::find_if(chunks_, [&](const Chunk& c) { return IsSame(c.id, id); });
  if (found == chunks_.end()) {
    auto rows = std::make_shared<data::RowBlock>();
    WEIR_ASSIGN_OR_RETURN(const data::ChunkResult result, reader_->ReadChunk(id, rows.get()));
    static_cast<void>(result);  // the first stage has told what is wrong with its lines
    data::KeepColumns(stage_.reads_dense(), stage_.has_interaction, rows.get());
    chunks_.push_front({id, std::move(rows)});
    if (chunks_.size() > kKeptChunks) chunks_.pop_back();
    found = chunks_.begin();
  }
  const auto row_count = static_cast<uint64_t>(found->rows->row_count());
  if (name.begin() > row_count || name.row_count() > row_count - name.begin()) {
    return InvalidData(StrCat("chunk ", name.chunk(), " of file ", name.file(), " has ", row_count,
                              " rows here, and the first stage names rows ", name.begin(), " to ",
                              name.begin() + name.row_count(),
                              ": all stages must read the same files"));
  }
  return found->rows;
}

}  // namespace weir::worker
