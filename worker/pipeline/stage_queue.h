// What the threads of a stage do next, and every batch that is under way in it: chunks to start
// from (of the first stage), what arrived from the neighbours, what waits for its way back.
//
// What comes back goes before what goes forward, so batches leave a stage as soon as they can. The
// first stage has a limit of batches in flight, and that bounds every queue of every stage: nothing
// in between waits for anything but its neighbours' messages.
//
// A new generation of the pipeline (cluster/pipeline_book.h) empties it. The first stage starts
// what was under way once more when all stages are there, unless the coordinator has given its
// chunk to others meanwhile.
//
// Place in the life of a batch: cut batch -> **queue** -> forward -> ... -> **queue** -> backward.
// Thread rule: any thread. Borrows what it is given.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/proto/config.pb.h"
#include "common/proto/protocol.pb.h"
#include "common/transport/message.h"
#include "worker/pipeline/in_flight.h"
#include "worker/pipeline/silence_watch.h"
#include "worker/pipeline/stage_batch.h"

namespace weir::worker {

struct StageWork {
  enum class Kind { kStart, kForward, kBackward };
  Kind kind = Kind::kForward;
  v1::Header header;  // of a message
  transport::Message message;
  // Of kForward: prepared if it has a generation. Null for a test batch that passes through on its
  // way back.
  std::unique_ptr<StageBatch> batch;
};

class StageQueue {
 public:
  // in_flight: batches that the first stage may have under way. forget: of a batch that is dropped
  // after its rows were asked for. clock: of the first stage's waits; outlives the queue.
  StageQueue(const v1::Config& config, bool is_first, size_t in_flight,
             std::function<void(StageBatch*)> forget, const Clock& clock);

  // --- Of the threads ---

  // What to do next; Finished follows. Nothing: not yet (some ticks have no work), or never again.
  std::optional<StageWork> Next(int64_t tick_ms);
  void Finished();
  bool stopped() const;
  // Whether the first stage waits for batches to come back, rather than for input.
  bool lacks_credit() const;

  // A message whose batch nobody has prepared yet, with a batch to prepare; and back.
  std::optional<StageWork> TakeUnprepared();
  void PutPrepared(StageWork work);

  // The batch waits for its way back; false when its generation is over.
  bool Keep(std::unique_ptr<StageBatch> batch);
  // The batch is done with.
  void GiveBack(std::unique_ptr<StageBatch> batch);

  // --- Of others ---

  void Add(std::shared_ptr<ChunkWork> chunk);
  // Abandons all chunks.
  void Stop();

  void TakeMessage(v1::Header header, transport::Message message);

  struct Change {
    bool is_new = false;   // another generation
    size_t dropped = 0;    // batches under way
    size_t revoked = 0;    // chunks
    bool is_back = false;  // all stages are ready, and once were before
    bool was_ready = false;
    std::string missing;  // "; stage 1 is not there", or nothing
    // All are ready after a silence: who had the batches that were lost, as CheckSilence says it.
    std::string silent = {};
  };
  Change TakeView(const v1::PipelineView& view);

  struct Silence {
    SilenceWatch::Silence of_batches;
    uint64_t generation = 0;
    // "stage 2 at tcp://...", and the stage before it; known once the stages have started over.
    std::string silent;
    size_t before = 0;
    std::string notice;  // to be logged, if any
  };
  // Of the first stage.
  Silence CheckSilence();

  bool is_busy() const;

 private:
  bool PickLocked(StageWork* work) WEIR_REQUIRES(mutex_);
  bool PickBackwardLocked(StageWork* work) WEIR_REQUIRES(mutex_);
  bool PickStartLocked(StageWork* work) WEIR_REQUIRES(mutex_);
  bool PickLostLocked(StageWork* work) WEIR_REQUIRES(mutex_);
  bool PickNextLocked(StageWork* work) WEIR_REQUIRES(mutex_);
  std::unique_ptr<StageBatch> SpareLocked() WEIR_REQUIRES(mutex_);
  void GiveBackLocked(std::unique_ptr<StageBatch> batch) WEIR_REQUIRES(mutex_);
  void ForgetLocked(StageWork* work) WEIR_REQUIRES(mutex_);  // its rows, if they were asked for
  size_t RevokeLocked(uint64_t leases_since) WEIR_REQUIRES(mutex_);
  std::string MissingStagesLocked() const WEIR_REQUIRES(mutex_);
  // The last stage that had handed on batches which did not come back to it.
  size_t LastThatAwaitedLocked() const WEIR_REQUIRES(mutex_);
  std::string SilentStageLocked() const WEIR_REQUIRES(mutex_);

  const v1::Config& config_;
  const bool is_first_;
  const std::function<void(StageBatch*)> forget_;
  const Clock& clock_;

  mutable Mutex mutex_;
  Condition changed_;
  bool stopping_ WEIR_GUARDED_BY(mutex_) = false;
  v1::PipelineView view_ WEIR_GUARDED_BY(mutex_);
  bool was_ready_ WEIR_GUARDED_BY(mutex_) = false;  // in some generation
  SilenceWatch watch_ WEIR_GUARDED_BY(mutex_);
  int at_work_ WEIR_GUARDED_BY(mutex_) = 0;  // threads that have got something from Next
  std::deque<std::shared_ptr<ChunkWork>> chunks_ WEIR_GUARDED_BY(mutex_);  // with batches to start
  std::vector<std::weak_ptr<ChunkWork>> handed_ WEIR_GUARDED_BY(mutex_);   // all that were added
  std::deque<StageWork> forward_ WEIR_GUARDED_BY(mutex_);                  // arrived
  std::deque<StageWork> backward_ WEIR_GUARDED_BY(mutex_);
  InFlight<StageBatch> in_flight_ WEIR_GUARDED_BY(mutex_);  // of the first stage
  // Of the others, until they come back.
  std::map<uint64_t, std::unique_ptr<StageBatch>> kept_ WEIR_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<StageBatch>> spare_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir::worker
