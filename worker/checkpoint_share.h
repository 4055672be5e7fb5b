// A worker's share of the run's checkpoints: what its policies have not sent, put aside while
// nobody trains, and written in the background into the folder that server 0 has made.
//
// Place in the life of a batch: beside all of it.
// Thread rule: the worker's input thread. What it writes is written in the background.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "common/base/clock.h"
#include "common/base/executor.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/proto/protocol.pb.h"
#include "worker/client/parameter_client.h"

namespace weir::worker {

// What others than the input thread want of checkpoints, and hear of them. Any thread.
struct CheckpointWishes {
  std::atomic<bool> wants_one{false};
  std::atomic<uint64_t> written{0};  // the last one of which this worker's share is there, and told
};

class CheckpointShare {
 public:
  struct Owner {
    uint32_t trainer = 0;
    std::optional<uint32_t> stage = {};
    uint64_t run = 0;
  };
  // folder: of the run's checkpoints; empty: this worker was not told of any.
  // wishes: outlives this; null: there are none.
  CheckpointShare(std::string folder, const Owner& owner, CheckpointWishes* wishes)
      : folder_(std::move(folder)), owner_(owner), wishes_(wishes) {}
  // Waits for what is being written, but not long for a disk that does not answer.
  ~CheckpointShare();

  // Puts this worker's share of that one aside, once, and begins to write it. Fails where the
  // servers cannot be reached; what cannot be written is told by the word.
  Status Take(uint64_t number, ParameterClient* client);
  // What the coordinator is to hear: of the last one, and of wishes.
  void AddWord(v1::WorkRequest* request);
  // Whether it has not heard all of the last one.
  bool has_news() const { return number_ != told_; }

  // This worker has nothing to train any more.
  void Rest() { rests_since_ = MonotonicSeconds(); }
  // It has something again. For how long it had none, where that was for a checkpoint: its number
  // and the seconds, once.
  struct Stop {
    uint64_t number = 0;
    double seconds = 0;
  };
  std::optional<Stop> GoOn();

 private:
  // Of one checkpoint; whoever writes it has it, too.
  struct Word {
    explicit Word(uint64_t number) { told.set_number(number); }
    Mutex mutex;
    v1::CheckpointWord told WEIR_GUARDED_BY(mutex);
  };
  static void Say(Word* word, const Status& written);

  const std::string folder_;
  const Owner owner_;
  CheckpointWishes* const wishes_;
  uint64_t number_ = 0, told_ = 0, stopped_for_ = 0;
  std::optional<double> rests_since_;
  std::shared_ptr<Word> word_;  // of the last one
  std::unique_ptr<Executor::Work> writing_;
};

}  // namespace weir::worker
