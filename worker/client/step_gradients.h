// What a step hands to whoever keeps the parameters, and the pulls of its rows.
//
// Place in the life of a batch: **pull rows** ... backward -> **push**.
// Thread rule: values, of one thread; they borrow.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "common/device/device.h"
#include "worker/data/batch.h"
#include "worker/link/read_mark.h"
#include "worker/push/encode_times.h"

namespace weir::worker {

// A row pull on its way; afterwards, what is known of the rows.
class RowPull {
 public:
  virtual ~RowPull() = default;
};

// A batch that comes later, and the pull of its rows once they are asked for.
struct NextRows {
  data::Batch batch;
  std::unique_ptr<RowPull> pull;
};

// Which round a push is of, and the trainers in it; number 0 in a run without rounds.
struct RoundOfPush {
  uint64_t number = 0;
  std::span<const uint32_t> members;
};

// A push of which layers leave as soon as they are there, while others are computed. Whoever has
// begun it hands the step to Push, too; if not, no part of it counts.
class BegunPush {
 public:
  virtual ~BegunPush() = default;
  // The gradients of these tensors are whole. In backward order; from the thread that computes.
  virtual void OnTensors(uint32_t begin, uint32_t end) = 0;
};

// What a client needs to push one thread's steps, one after another: made by the client
// (NewPushScratch), kept by the thread.
class PushScratch {
 public:
  virtual ~PushScratch() = default;
};

// One step's result.
struct StepGradients {
  const data::Batch* batch = nullptr;
  RowPull* pull = nullptr;           // of the batch's rows, to find them again by; or null
  PushScratch* scratch = nullptr;    // the thread's; null where the client needs none
  NextRows* next = nullptr;          // whose rows are to be asked for as well, to train; or null
  device::Span<const float> dense;   // flat, as ModelLayout places tensors; on the device
  BegunPush* begun = nullptr;        // of which part has left already; or null
  device::Stream* stream = nullptr;  // that it is computed in; null on the CPU
  std::span<const float> rows;       // [sum over tables of unique ids, dimension]; empty where
                                     // the client applies_rows_on_device
  device::Span<const float> rows_on_device;  // the same there
  std::span<const float> row_squares;        // [sum over tables of unique ids]; empty unless needed
  ReadMark mark;
  uint64_t lease = 0;
  uint64_t offset = 0;  // rows of the lease that are finished
  RoundOfPush round;
  PushSeconds* times = nullptr;  // if not null: where the push's time goes is added
  // Called while the push is made, on a device with memory of its own: nobody reads `dense` there
  // any more, and the stream is free. Not where a step goes without a push.
  std::function<void()> once_taken = {};
};

}  // namespace weir::worker
