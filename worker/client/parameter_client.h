// What a worker's threads need of whoever keeps the parameters: servers over the network
// (ServerClient) or the store in this process (EmbeddedClient). Trainer and input are written once
// against this.
//
// Place in the life of a batch: **pull rows** ... forward, backward ... **push** ; and **lease**.
// Thread rule: any thread. Every wait has a deadline and fails with a Status that names whom it
// waited for; after a failure, or Stop, every call fails.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/status.h"
#include "common/compress/square_sums.h"
#include "common/device/device.h"
#include "common/proto/protocol.pb.h"
#include "common/saved_model/policy_states.h"
#include "worker/client/step_gradients.h"
#include "worker/data/batch.h"
#include "worker/link/read_mark.h"

namespace weir::worker {

// What a saved model says of its steps: of all stages, and of that with the rows.
struct SavedSteps {
  uint64_t all = 0;
  uint64_t rows = 0;
};

class ParameterClient {
 public:
  virtual ~ParameterClient() = default;

  // Which trainer this is: keeps the random choices of several apart.
  virtual uint32_t trainer() const { return 0; }

  // The dense parameters, flat, on the device. They change while read (common/base/hogwild.h).
  virtual device::Pointer<const float> replica() const = 0;

  // Where backward passes add up the squares of the dense tensors, before Push.
  virtual compress::SquareSumsOfTensors square_sums() const { return {}; }
  // Whether Push needs those of rows, of the step alone.
  virtual bool needs_row_squares() const { return false; }

  // Asks for the batch's rows. read_only: rows nobody has trained are not created.
  virtual std::unique_ptr<RowPull> PullRows(const data::Batch& batch, bool read_only) = 0;
  // Waits for them. rows: [sum over tables of unique ids, dimension].
  virtual Status AwaitRows(RowPull* pull, std::span<float> rows) = 0;

  // Whether rows are on the device: then they come by AwaitRowsOnDevice instead, in the stream.
  virtual bool has_rows_on_device() const { return false; }
  // Whether they may be awaited before a step that was begun before is pushed.
  virtual bool rows_may_come_ahead() const { return false; }
  // Whether Push takes the gradients of rows there.
  virtual bool applies_rows_on_device() const { return false; }
  virtual Status AwaitRowsOnDevice(RowPull* pull, device::Stream& stream, device::Span<float> rows);

  // Instead of AwaitRows: nobody wants them any more.
  virtual void Forget(RowPull* /*pull*/) {}

  // Call before reading the replica.
  virtual ReadMark MarkRead() = 0;

  // For every thread that pushes: what its steps bring along. Null: nothing is needed. Goes before
  // the client and the device.
  virtual std::unique_ptr<PushScratch> NewPushScratch() const { return nullptr; }

  // Before the backward pass, of a step with its batch, mark, scratch and dense gradients, which
  // are not there yet: who takes layers as they come; null where all leave together.
  virtual std::unique_ptr<BegunPush> BeginPush(const StepGradients& /*step*/) { return nullptr; }

  // Hands a step's gradients on; waits for credit if they cannot wait. Then asks for the rows of
  // step.next: a server that gets both at a time has half as many messages to wake for. Returns the
  // number of the push, or 0 if the gradients only went into residuals.
  virtual Result<uint64_t> Push(const StepGradients& step) = 0;

  // Which of how many trainers this one is, rank < trainer_count; from time to time.
  virtual void SetPlace(uint32_t /*rank*/, uint32_t /*trainer_count*/) {}
  // Pushes that may be in flight from now on, and whether threads await their answers.
  virtual void SetWindow(int /*window*/, bool /*awaits_answers*/) {}

  // Until every server has answered all pushes up to this one.
  virtual Status AwaitAccepted(uint64_t sequence) = 0;
  // And has promised to keep them, whatever ends.
  virtual Status AwaitDurable(uint64_t sequence) { return AwaitAccepted(sequence); }

  // Whether a push has left that not every server has promised to keep.
  virtual bool has_volatile() const { return false; }

  // Until the replica is what the servers have now.
  virtual Status Refresh() = 0;

  // One exchange with the coordinator. scores: a SCORES frame for each completion that has scores.
  virtual Result<v1::WorkReply> RequestWork(v1::WorkRequest request, std::vector<Bytes> scores) = 0;

  // What this worker has counted; FillReport's part is filled in before.
  virtual Result<v1::ReportReply> SendReport(v1::Report report) = 0;

  // When the run is over: calls take with frames (common/saved_model/frames.h), part by part, that
  // together are the model. Returns the steps that made it.
  virtual Result<SavedSteps> Save(const std::function<Status(ByteSpan frames)>& take) = 0;

  // For the checkpoint of this number, while no thread takes steps: has all servers write their
  // parameters down as they are, and gives what this worker's policies have not sent. Nothing:
  // there are no servers, and all of it is written, or given up.
  virtual Result<std::optional<saved_model::KeptStates>> PutAside(uint64_t checkpoint);

  // Adds what the client knows: bytes, layers, staleness, reconnects.
  virtual void FillReport(v1::WorkerReport* report) = 0;

  // Everything that waits or comes fails with this status. If tell_others, the coordinator is told
  // first, and the run fails unless other trainers can do without this one.
  virtual void Stop(const Status& status, bool tell_others) = 0;
};

}  // namespace weir::worker
