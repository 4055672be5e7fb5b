// The rows of chunks that the first stage names, as a later stage reads them for itself: its own
// columns only, without the lines that the first stage found malformed. The last few are kept,
// since the batches of a chunk come one after the other.
//
// Place in the life of a batch: its name arrives -> **read -> parse** -> batch.
// Thread rule: any thread; one reads at a time. Borrows reader.
#pragma once

#include <deque>
#include <memory>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/layout/model_layout.h"
#include "common/proto/protocol.pb.h"
#include "worker/data/reader.h"

namespace weir::worker {

class ChunkRows {
 public:
  ChunkRows(const StageSpec& stage, data::Reader* reader) : stage_(stage), reader_(reader) {}

  // The rows of the chunk that has the named batch. InvalidData when its lines are others here: the
  // stages read different files.
  Result<std::shared_ptr<const data::RowBlock>> Find(const v1::BatchName& name);

 private:
  struct Chunk {
    data::ChunkId id;
    std::shared_ptr<const data::RowBlock> rows;
  };

  Result<std::shared_ptr<const data::RowBlock>> Read(const data::ChunkId& id,
                                                     const v1::BatchName& name);

  const StageSpec stage_;
  data::Reader* const reader_;
  Mutex mutex_;
  std::deque<Chunk> chunks_ WEIR_GUARDED_BY(mutex_);  // the newest first
};

}  // namespace weir::worker
