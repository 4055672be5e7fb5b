// A stage's connections to the stages before and behind it: it listens for the one before, connects
// to the one behind, and hands messages up and down.
//
// The coordinator says where the next stage is (PipelineView), and which generation of the pipeline
// there is: a message of another generation is dropped, one of somebody else with a word in the
// log. What is lost with a connection stays lost: the first stage notices that a batch does not
// come back and asks for a new generation. So does who is handed a batch that was damaged on the
// way, at once.
//
// Place in the life of a batch: forward -> **the next stage** -> forward; and back.
// Thread rule: public methods from any thread; two I/O threads own a transport each and call
// on_message. Legal order: Listen, Start, then anything, then destruction. Or Begin instead of
// Start, and Step again and again, from one thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "common/base/mutex.h"
#include "common/base/rare_lines.h"
#include "common/base/status.h"
#include "common/proto/protocol.pb.h"
#include "common/proto/report.pb.h"
#include "common/transport/transport.h"
#include "worker/link/wire_meter.h"

namespace weir::worker {

struct StageLinkOptions {
  uint32_t trainer = 0;
  uint32_t stage = 0;
  uint32_t stage_count = 2;
  std::string listen_address = {};  // where the stage before reaches it; not of the first stage
  // What the others are told; a port of 0 becomes the one that was taken. Empty: listen_address.
  std::string advertised_address = {};
};

class StageLinks {
 public:
  // upstream: null for the first stage; downstream: null for the last.
  StageLinks(StageLinkOptions options, std::unique_ptr<transport::ServerTransport> upstream,
             std::unique_ptr<transport::ClientTransport> downstream);
  ~StageLinks();

  // Binds. Fails with a message that names the address.
  Status Listen();
  // After Listen; empty for the first stage.
  const std::string& address() const { return address_; }

  // on_message: a stage_forward of the stage before or a stage_backward of the one behind, of the
  // present generation; from an I/O thread. on_failure: no message will come any more. on_damage:
  // something of this generation was, and is not handed on.
  void Start(std::function<void(v1::Header, transport::Message)> on_message,
             std::function<void(const Status&)> on_failure,
             std::function<void(uint64_t generation)> on_damage);

  // The same without threads, for who calls Step.
  void Begin(std::function<void(v1::Header, transport::Message)> on_message,
             std::function<void(const Status&)> on_failure,
             std::function<void(uint64_t generation)> on_damage);
  // At each neighbour one look at what is to be sent, and at a message if one comes in time. False
  // once no message will come any more.
  bool Step(int64_t timeout_ms);

  // Nothing comes or goes any more; the I/O threads are over. Again does no harm.
  void Stop();

  // A new generation: connects to where the next stage is, if it is somewhere.
  void SetView(const v1::PipelineView& view);

  // Queues a message of this generation; dropped when there is another by then.
  void Send(const v1::Header& header, const std::vector<transport::Part>& body);

  // "trainer 0 stage 1 at tcp://..."
  std::string NextName() const;

  // Whether the next stage has batches that have not come back: of the present generation or, as
  // long as none of this comes back, of those before it.
  bool awaits_next() const;

  // The bytes that left here.
  v1::KindBytes sent() const;

 private:
  struct Outgoing {
    uint64_t generation = 0;
    bool is_test = false;  // activations of a test batch
    transport::Message message;
  };

  struct Neighbour {
    uint32_t stage = 0;
    std::deque<Outgoing> waiting = {};  // taken from its queue, and not left
    RareWarnings complaints = {};
    uint64_t damaged_generation = 0;  // the last of which something came damaged
    int damaged_generations = 0;      // so many of them since something came whole
  };

  // Steps until Stop, or until there is no memory for it, which is a failure.
  void Run(bool (StageLinks::*step)(int64_t timeout_ms));
  bool StepUpstream(int64_t timeout_ms);
  bool StepDownstream(int64_t timeout_ms);
  bool Fail(const Status& status);  // false, always
  void Connect();
  // The messages of the present generation that wait in the queue, which is emptied.
  std::deque<Outgoing> TakeQueue(std::deque<Outgoing>* queue);
  void TakeUpstream(transport::IncomingMessage incoming);
  void Count(const Outgoing& out);
  void TakeDamage(const Status& damage, uint64_t generation, Neighbour* neighbour);
  void TakeDownstream(transport::Message message);
  // True if a batch message of the neighbour from_stage and of this generation.
  bool IsExpected(uint32_t trainer, uint32_t from_stage, uint64_t generation,
                  Neighbour* neighbour) const;

  const StageLinkOptions options_;
  const std::unique_ptr<transport::ServerTransport> upstream_;
  const std::unique_ptr<transport::ClientTransport> downstream_;
  std::string address_;
  std::function<void(v1::Header, transport::Message)> on_message_;
  std::function<void(const Status&)> on_failure_;
  std::function<void(uint64_t)> on_damage_;

  std::atomic<bool> stopping_{false};
  std::atomic<uint64_t> generation_{0};
  mutable Mutex mutex_;
  // Batches of this generation that the next stage has; of another some are lost, and nothing has
  // come back since.
  std::set<uint64_t> away_ WEIR_GUARDED_BY(mutex_);
  bool has_lost_ WEIR_GUARDED_BY(mutex_) = false;
  std::string next_address_ WEIR_GUARDED_BY(mutex_);  // of the stage behind; empty: nobody is there
  bool must_connect_ WEIR_GUARDED_BY(mutex_) = false;     // to next_address_
  std::deque<Outgoing> forward_ WEIR_GUARDED_BY(mutex_);  // to leave
  std::deque<Outgoing> backward_ WEIR_GUARDED_BY(mutex_);

  Neighbour before_;              // upstream thread only, as what follows
  transport::PeerId peer_;        // the stage before
  uint64_t peer_generation_ = 0;  // that it is of
  Neighbour next_;                // downstream thread only, as what follows
  transport::ConnectionId connection_ = 0;

  WireMeter meter_;
  std::thread upstream_thread_, downstream_thread_;
};

}  // namespace weir::worker
