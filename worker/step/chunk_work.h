// A leased chunk on its way through the Hogwild threads: its rows, which of its batches are taken,
// how far it is finished, and, for test chunks, the scores.
//
// Place in the life of a batch: parse -> **chunk** -> batch.
// Thread rule: any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/mutex.h"
#include "common/eval/scores.h"
#include "common/proto/config.pb.h"
#include "common/proto/protocol.pb.h"
#include "worker/client/step_gradients.h"
#include "worker/data/batch.h"

namespace weir::worker {

class ChunkWork {
 public:
  // Rows from lease.first_row() on, cut into batches of batch_size and a shorter last one; in a run
  // in rounds, empty ones follow until there is one for each round of the lease.
  ChunkWork(v1::ChunkLease lease, data::RowBlock rows, int64_t batch_size);

  struct BatchRange {
    size_t index = 0;            // of the batch in the chunk
    int64_t begin = 0, end = 0;  // rows
  };
  // The next batch nobody has taken.
  std::optional<BatchRange> Take();

  // The batch was pushed under this number (0: nothing to wait for), or scored.
  void Finish(const BatchRange& range, uint64_t push_sequence);
  // unmasked: with everything sent at the splits of the model; empty for each batch or for none.
  void FinishScores(const BatchRange& range, std::span<const float> probabilities,
                    std::span<const float> unmasked = {});

  // Rows, from the chunk's first, in batches that are pushed and durable without a gap.
  uint64_t FinishedRows(uint64_t durable_sequence);

  // Until every batch is finished, or Abandon or Revoke. Returns the highest push number.
  std::optional<uint64_t> AwaitFinished();
  // Nobody will finish it.
  void Abandon();
  // Others do its rows: whoever waits for it forgets it.
  void Revoke();
  bool is_revoked() const;

  const v1::ChunkLease& lease() const { return lease_; }
  // Of a batch; number 0 in a run without rounds.
  RoundOfPush round(const BatchRange& range) const;
  const data::RowBlock& rows() const { return rows_; }
  bool is_test() const { return lease_.split() == v1::TEST; }
  int64_t row_count() const { return rows_.row_count() - first_row_; }
  // Of a test chunk that is finished: of the rows whose score is a number.
  eval::Scores scores() const;
  // And the others, from the chunk's first.
  std::vector<int64_t> RowsWithoutScore() const;

 private:
  const v1::ChunkLease lease_;
  const data::RowBlock rows_;
  const int64_t batch_size_;
  const int64_t first_row_;
  size_t batch_count_ = 0;
  mutable Mutex mutex_;
  Condition changed_;
  size_t next_ WEIR_GUARDED_BY(mutex_) = 0;
  size_t finished_ WEIR_GUARDED_BY(mutex_) = 0;
  size_t durable_prefix_ WEIR_GUARDED_BY(mutex_) = 0;  // batches
  bool abandoned_ WEIR_GUARDED_BY(mutex_) = false;
  bool revoked_ WEIR_GUARDED_BY(mutex_) = false;  // then it is abandoned as well
  std::vector<std::optional<uint64_t>> sequences_ WEIR_GUARDED_BY(mutex_);  // per batch
  // Test chunks: per row. Each batch writes its own, and they are read once all are finished.
  std::vector<float> probabilities_, unmasked_;
};

// Of a row to test on, for a person to find it: "test.csv:7".
std::string PlaceOf(const v1::DataConfig& data, const ChunkWork& chunk, size_t row);

}  // namespace weir::worker
