// Work on its way through the strands: a step, of pushes that become answers (or of none, after a
// hello), and a row pull that becomes a reply. Each strand fills its own slot; the last one to
// finish hands the whole to the outbox.
//
// Place in the life of a batch: dispatcher -> **strands** -> outbox -> I/O thread.
// Thread rule: the dispatcher fills everything before posting; then each strand touches only its
// own slots, and the countdown orders them before the I/O thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/session/server_session.h"
#include "common/store/row_table.h"
#include "common/transport/transport.h"
#include "common/wire/frame.h"
#include "server/shard/agreed_elements.h"

namespace weir::server {

// Row gradients of a push for one row partition.
struct RowGradients {
  void Reserve(size_t row_count, size_t dimension) {
    rows.reserve(row_count);
    values.reserve(row_count * dimension);
  }

  std::vector<store::BatchRow> rows;
  std::vector<float> values;  // [rows.size(), dimension], in the order of rows
};

// The stage that a worker runs; nothing: all of them.
using StageId = std::optional<uint32_t>;

// A worker's push, sorted by who applies which part of it.
struct Contribution {
  std::vector<transport::Message> messages;  // own the bytes that the frames point into
  std::vector<wire::FrameView> frames;
  std::vector<const wire::FrameView*> dense_frames;  // per dense strand; null: nothing for it
  std::vector<RowGradients> row_gradients;           // per row partition
};

// How much of a push was larger than it may be (norm_bound.h), and was scaled down.
struct BoundedParts {
  uint32_t pieces = 0;
  uint32_t rows = 0;
};

// What a worker is told once the step is done.
struct PendingAnswer {
  session::AnswerTask task;
  uint32_t staleness = 0;
  std::vector<Bytes> values;  // per dense strand: a VALUES frame or nothing
  Status status = {};         // of its contribution: what a peer should not have sent; see Fail
  BoundedParts bounded = {};  // of it; for the server's book, the worker is not told
};

// A step of the parameters, or none, and the answers that follow it. Of one worker's push, or of
// several that go together: then it is their mean, in the order of the list.
struct PendingStep {
  StageId stage;
  uint64_t version = 0;  // of the stage's parameters
  bool is_step = false;  // somebody asks for more than answers
  std::vector<Contribution> contributions;
  std::shared_ptr<const AgreedElements> agreed;  // what frames of agreed gradients are of; or null
  // The first are of those who contribute, in their order. None where it is replayed.
  std::vector<PendingAnswer> answers;
  uint64_t log_number = 0;  // of the record that answers wait for
  std::atomic<int> left{0};

  // The first failure of any strand with a contribution.
  void Fail(size_t contribution, Status failure) {
    MutexLock lock(mutex);
    if (answers.empty()) return;
    Status& status = answers[contribution].status;
    if (status.ok()) status = std::move(failure);
  }
  // What a strand has scaled down of a contribution.
  void CountBounded(size_t contribution, const BoundedParts& parts) {
    const MutexLock lock(mutex);
    if (answers.empty()) return;
    answers[contribution].bounded.pieces += parts.pieces;
    answers[contribution].bounded.rows += parts.rows;
  }
  Mutex mutex;  // of what strands give an answer: its status, and what they scaled down
};

struct PendingRows {
  transport::PeerId peer;
  uint64_t connection = 0;  // which of its worker's
  uint64_t request_id = 0;
  bool read_only = false;
  uint64_t version = 0;  // of the last push before it
  struct Frame {
    uint32_t table = 0;
    size_t row_count = 0;
  };
  // Frames of the request, in its order. Large ones take several blocks, each of which finds memory
  // that was used before (common/session/body.h); within one a partition reads all of its rows at
  // once.
  struct Block {
    std::vector<Frame> frames;
    size_t row_count = 0;
    std::vector<std::vector<store::BatchRow>> rows;  // per row partition
    std::vector<float> values;                       // [row_count, dimension]
  };
  std::vector<Block> blocks;
  std::atomic<int> left{0};
};

// A section of a cut (shard_cut.h).
struct PendingSection {
  Status status = {};      // why it cannot be saved
  uint64_t next_row = 0;   // where the strand's next section begins; 0: it has no more
  uint64_t row_count = 0;  // the strand's rows at the cut
  Bytes frames;
};

// Where finished work waits for the I/O thread.
class Outbox {
 public:
  // wake: ends the I/O thread's wait; any thread.
  explicit Outbox(std::function<void()> wake) : wake_(std::move(wake)) {}

  // The I/O thread is awake, and will take all before it waits again: nobody need wake it.
  void Attend() {
    MutexLock lock(mutex_);
    is_attended_ = true;
  }

  void Put(std::shared_ptr<PendingStep> step) { PutInto(&Contents::steps, std::move(step)); }
  void Put(std::shared_ptr<PendingRows> rows) { PutInto(&Contents::rows, std::move(rows)); }
  void Put(std::shared_ptr<PendingSection> section) {
    PutInto(&Contents::sections, std::move(section));
  }

  struct Contents {
    std::vector<std::shared_ptr<PendingStep>> steps;
    std::vector<std::shared_ptr<PendingRows>> rows;
    std::vector<std::shared_ptr<PendingSection>> sections;
  };
  Contents TakeAll() {
    MutexLock lock(mutex_);
    is_attended_ = false;
    return std::exchange(contents_, Contents());
  }

 private:
  template <typename Work>
  void PutInto(std::vector<Work> Contents::*list, Work work) {
    {
      MutexLock lock(mutex_);
      (contents_.*list).push_back(std::move(work));
      if (is_attended_) return;
    }
    wake_();
  }

  const std::function<void()> wake_;
  Mutex mutex_;
  bool is_attended_ WEIR_GUARDED_BY(mutex_) = false;
  Contents contents_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir::server
