#include "worker/pipeline/chunk_rows.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "common/base/strings.h"

namespace weir::worker {
namespace {

// The first stage is in two chunks at most, and its batches come back out of order.
constexpr size_t kKeptChunks = 4;

bool IsSame(const data::ChunkId& a, const data::ChunkId& b) {
  return a.split == b.split && a.epoch == b.epoch && a.file == b.file && a.chunk == b.chunk;
}

}  // namespace

Result<std::shared_ptr<const data::RowBlock>> ChunkRows::Read(const data::ChunkId& id,
                                                              const v1::BatchName& name) {
  const std::vector<uint32_t> malformed(name.malformed().begin(), name.malformed().end());
  const data::ColumnChoice choice{.dense = stage_.reads_dense(),
                                  .ids = stage_.has_interaction,
                                  .hash = true,
                                  .malformed = &malformed};
  auto rows = std::make_shared<data::RowBlock>();
  WEIR_RETURN_IF_ERROR(reader_->ReadColumns(id, choice, rows.get()).status());
  return std::shared_ptr<const data::RowBlock>(std::move(rows));
}

Result<std::shared_ptr<const data::RowBlock>> ChunkRows::Find(const v1::BatchName& name) {
  data::ChunkId id{name.split() == v1::TEST ? data::Split::kTest : data::Split::kTrain,
                   static_cast<int32_t>(name.epoch()), static_cast<int32_t>(name.file()),
                   static_cast<int64_t>(name.chunk())};
  if (name.has_place()) id.place = name.place();
  if (id.file < 0 || id.file >= reader_->file_count(id.split) || id.chunk < 0 || id.epoch < 0) {
    return InvalidData(StrCat("a batch of file ", name.file(), ", which is not among the data"));
  }
  MutexLock lock(mutex_);
  auto found = std::ranges::find_if(chunks_, [&](const Chunk& c) { return IsSame(c.id, id); });
  if (found == chunks_.end()) {
    WEIR_ASSIGN_OR_RETURN(auto rows, Read(id, name));
    chunks_.push_front({id, std::move(rows)});
    if (chunks_.size() > kKeptChunks) chunks_.pop_back();
    found = chunks_.begin();
  }
  if (found->rows->hash != name.chunk_hash() ||
      !std::ranges::equal(found->rows->malformed, name.malformed())) {
    return InvalidData(StrCat("chunk ", name.chunk(), " of file ", name.file(),
                              " has other lines here than at the first stage, and all stages must "
                              "read the same files"));
  }
  const auto row_count = static_cast<uint64_t>(found->rows->row_count());
  if (name.begin() > row_count || name.row_count() > row_count - name.begin()) {
    return InvalidData(StrCat("chunk ", name.chunk(), " of file ", name.file(), " has ", row_count,
                              " rows, and the first stage names rows ", name.begin(), " to ",
                              name.begin() + name.row_count()));
  }
  return found->rows;
}

}  // namespace weir::worker
