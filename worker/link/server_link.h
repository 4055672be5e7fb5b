// A worker's I/O: its connections to all servers, the sessions on them, and everything that is
// outstanding. A thread of its own does it, step after step, or who calls Step. Compute threads
// hand it messages and wait for what they need; who has no threads to wait looks whether it is
// there.
//
// A push goes to every server under one number and counts as accepted when all have answered. The
// replica changes only here, by answers. Row pulls and work requests carry ids instead of numbers
// and are repeated on a new connection, since repeating them changes nothing.
//
// Place in the life of a batch: **pull rows**, **push**, **answer -> replica**.
// Thread rule: public methods from any thread. The replica is written by the I/O thread only, the
// link's own or the one that steps.
// Legal order: Connect, then anything, then destruction; Stop at any time. Or Step instead of
// Connect, again and again, and once is_connected anything that does not wait.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/base/clock.h"
#include "common/base/function_ref.h"
#include "common/base/mutex.h"
#include "common/base/rare_lines.h"
#include "common/base/status.h"
#include "common/layout/model_layout.h"
#include "common/metrics/histogram.h"
#include "common/proto/config.pb.h"
#include "common/proto/protocol.pb.h"
#include "common/session/client_session.h"
#include "common/session/damage.h"
#include "common/transport/transport.h"
#include "worker/link/agreed_pieces.h"
#include "worker/link/joining.h"
#include "worker/link/link_options.h"
#include "worker/link/loading_notice.h"
#include "worker/link/outstanding.h"
#include "worker/link/read_mark.h"
#include "worker/link/replica.h"
#include "worker/link/wire_meter.h"

namespace weir::worker {

// A pull of rows. Once it is submitted it is known by its id, and its bodies are gone.
struct RowRequest {
  std::vector<Body> bodies;  // for each server ROW_IDS frames, possibly none
  bool read_only = false;
  uint64_t id = 0;
};

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): in the order of who owns what.
class ServerLink {
 public:
  // config, layout: outlive the link.
  ServerLink(const v1::Config& config, const ModelLayout& layout, LinkOptions options,
             std::unique_ptr<transport::ClientTransport> transport);
  ~ServerLink();

  // Joins the run and waits until the replica holds every server's pieces.
  Status Connect();

  // One look at what is to be sent, at a message if one comes in time, and at what is due. The
  // first ones join the run. False once the link has no more to do, because it could not join or
  // there was no memory.
  bool Step(int64_t timeout_ms);
  // What Connect waits for.
  bool is_connected() const;
  // Why everything fails, once it does.
  Status failure() const;

  uint32_t trainer() const { return options_.trainer; }
  // Once it is connected: which process of its seat this is, from 1, and what tells the run
  // from others.
  uint64_t incarnation() const { return incarnation_; }
  uint64_t run() const { return run_; }
  // Once it could not join: see Joining.
  std::optional<uint64_t> begun_with() const {
    return joining_ ? joining_->begun_with() : std::nullopt;
  }
  // Stands still while the process does.
  const Clock& clock() const { return clock_; }
  device::Pointer<const float> replica() const { return replica_.values(); }

  // Pushes that may be in flight from now on; at first cluster.window.
  void SetWindow(int window);

  // A place among the pushes in flight (the window, cluster.max_unacknowledged_bytes). TryAcquire
  // does not wait.
  bool TryAcquireCredit();
  Status AcquireCredit();

  ReadMark MarkRead() const;

  // Takes a credit acquired before. bodies[i]: for server i. read_version is filled in from `read`.
  // next_rows: if not null, submitted as well, so that each server gets it right behind the push.
  // agreed: what its frames of agreed gradients are of, and those of the answers; or null. Returns
  // the push's number.
  uint64_t SubmitPush(v1::Push push, std::vector<Body> bodies, const ReadMark& read,
                      RowRequest* next_rows = nullptr,
                      std::shared_ptr<const AgreedPieces> agreed = nullptr);
  Status AwaitAccepted(uint64_t sequence);
  Status AwaitDurable(uint64_t sequence);

  // A push may begin with parts: a name for all of them, for its parts_name; the credit is the
  // push's.
  uint64_t NewPartsName();
  // bodies[i]: for server i, which hears of no part that is empty.
  void SubmitPart(uint64_t name, std::vector<Body> bodies);

  void SubmitRowPull(RowRequest* request);
  // The servers' replies, bodies only, in server order; empty where nothing was asked.
  Result<std::vector<Body>> AwaitRowReplies(uint64_t request_id);
  // The same once they are there; nothing before, and nothing of a link that has failed.
  std::optional<std::vector<Body>> TryTakeRowReplies(uint64_t request_id);

  // Waits for what all of the round propose. bodies[i]: for server i, ELEMENT_IDS frames, and such
  // are the replies. One thread at a time. Or without waiting, by the proposal's id.
  struct Agreed {
    v1::Agreement words;
    std::vector<Body> replies;  // in server order
  };
  Result<Agreed> Propose(v1::Proposal proposal, std::vector<Body> bodies);
  uint64_t SubmitProposal(v1::Proposal proposal, std::vector<Body> bodies);
  std::optional<Agreed> TryTakeAgreed(uint64_t proposal_id);

  // Messages that only tell how long such ones take (message_times.h). bodies[i]: for server i, any
  // bytes; without them it is not asked. And when the last reply came, MonotonicSeconds.
  uint64_t SubmitProbe(std::vector<Body> bodies);
  Result<double> AwaitProbe(uint64_t id);
  size_t server_count() const { return peers_.size(); }

  // Nobody will wait for it.
  void ForgetRowPull(uint64_t request_id);

  // Some push was submitted that not every server has promised to keep.
  bool has_volatile() const;

  // Waits for a section of what a server saves; one thread at a time.
  Result<Outstanding::Section> PullSection(size_t server, const v1::ModelPlace& place);

  // One exchange with the coordinator at a time. Or without waiting: what was submitted is over
  // once its reply is taken.
  Result<v1::WorkReply> RequestWork(v1::WorkRequest request, Body scores);
  Result<v1::ReportReply> SendReport(v1::Report report);
  void SubmitWorkRequest(v1::WorkRequest request, Body scores);
  std::optional<v1::WorkReply> TryTakeWork();
  void SubmitReport(v1::Report report);
  std::optional<v1::ReportReply> TryTakeReportReply();

  // Fails everything that waits, Connect included, now and later. tell_others: the coordinator
  // hears the reason, if this worker has joined.
  void Stop(const Status& status, bool tell_others);

  // What the coordinator hears of the pipeline, soon and from now on (Heartbeat): a generation
  // that was adopted, and one whose messages were lost.
  void TellAdopted(uint64_t generation, bool awaited_next);
  void TellLost(uint64_t generation);

  // "server 1 at tcp://h1:7100", for messages.
  std::string PeerName(size_t server) const;
  WireMeter& meter() { return meter_; }
  // Staleness, reconnects, replays.
  void FillReport(v1::WorkerReport* report) const;

 private:
  struct Peer {  // I/O thread only
    std::string address;
    std::optional<session::ClientSession> session;
    transport::ConnectionId connection = 0;
    int64_t noticed_ms = 0;  // when it last said that a push, and what is behind, waits for others
    session::DamageBook damage;
  };

  // How far it is; in the last one, too, when it has joined and failed since.
  enum class Phase { kJoining, kAwaitingReplica, kTellingLearned, kConnected };

  // The I/O thread. False, and the link has failed, when it runs out of memory.
  bool DoOrFail(FunctionRef<void()> work);
  void Join(int64_t timeout_ms);
  Status TryToJoin(int64_t timeout_ms);
  Status BeginJoining(int64_t now_ms);
  void OpenSessions(const v1::JoinReply& joined);
  void Converse(int64_t timeout_ms);
  void GoOnConnecting();
  Status TellLearned();
  void SayLastWords();
  void RunCommands();
  void Receive(transport::ConnectionMessage incoming);
  void LookAtBroken(int64_t now_ms);
  void TakeDamage(size_t server, const Result<v1::Header>& header, const Status& damage);
  void Handle(size_t server, const v1::Header& header, const transport::Message& message);
  void Do(size_t server, const session::ClientActions& actions,
          const transport::Message* answer = nullptr);
  void ApplyAnswer(size_t server, const transport::Message* answer);
  void TakeRowReply(size_t server, uint64_t request_id, const transport::Message& message);
  void TakeAgreement(size_t server, const v1::Agreement& agreement,
                     const transport::Message& message);
  void TakeProbeReply(size_t server, uint64_t request_id);
  void TakeModelReply(size_t server, const v1::ModelReply& reply,
                      const transport::Message& message);
  void TakeHeartbeatReply(const v1::HeartbeatReply& reply);
  void TakeWorkReply(const v1::Header& header);
  void TakeReportReply(const v1::Header& header);
  void TakeExchangeReply(uint64_t id, const v1::Header& reply);
  void TakeFailureOfRun(const std::string& reason);
  void TakeRoundNotice(size_t server, const v1::RoundNotice& notice);
  void TakePipeline(const v1::PipelineView& view);
  // Of the coordinator, for which something has waited since then.
  void TakeWord(const std::optional<int64_t>& since_ms) WEIR_REQUIRES(mutex_);
  void TakeHelloReply(size_t server, const v1::HelloReply& reply);
  void Tick();
  void SendHeartbeat(int64_t now_ms);
  void SayFarewell();
  // Until the next Tick.
  int64_t PauseMs() const;
  void RepeatOutstanding(size_t server);
  void PublishTaken();
  void SendRequest(size_t server, const std::function<std::optional<Request>()>& get);
  void Send(size_t server, Request request);
  v1::Speaker Speaker() const;
  void Send(size_t server, const v1::Header& header, const Body& body);
  session::OtherWaits OldestOutstanding(size_t server) const;
  // With what this process knows of why the servers seem to be gone.
  Status Explained(const Status& failure) const;

  bool HasCreditLocked() const WEIR_REQUIRES(mutex_);
  void SubmitRowPullLocked(RowRequest* request) WEIR_REQUIRES(mutex_);
  Agreed TakeAgreedLocked(uint64_t proposal_id) WEIR_REQUIRES(mutex_);
  void SubmitExchange(v1::Header request, Body scores);
  Result<v1::Header> AwaitExchange();
  std::optional<v1::Header> TryTakeExchange();
  void TellFailure(const Status& status);
  void Post(std::function<void()> command);
  void Fail(const Status& status);

  const v1::Config& config_;
  const LinkOptions options_;
  const v1::RunIdentity identity_;
  const std::unique_ptr<transport::ClientTransport> transport_;
  AwakeClock clock_;  // looked at by the I/O thread
  Replica replica_;
  WireMeter meter_;
  std::vector<Peer> peers_;
  Phase phase_ = Phase::kJoining;
  bool has_ended_ = false;  // Step has no more to do
  std::optional<Joining> joining_;
  bool wants_learned_ = false;  // as the coordinator has said
  int64_t next_tick_ms_ = 0;
  uint64_t incarnation_ = 0;
  uint64_t run_ = 0;
  int64_t next_heartbeat_ms_ = 0;
  bool pipeline_is_ready_ = true;
  uint64_t adopted_generation_ = 0, lost_generation_ = 0;
  bool awaited_next_ = false;  // when it was adopted
  bool run_is_over_ = false;   // as the coordinator says
  LoadingNotice loading_notice_;
  RareWarnings complaints_;
  std::optional<int64_t> round_waits_since_ms_;  // and has not been told of
  uint64_t waiting_round_ = 0;

  mutable Mutex mutex_;
  Condition changed_;
  // For each server in turn, so that what several have for one goes to it at a time.
  std::vector<std::function<void(size_t server)>> commands_ WEIR_GUARDED_BY(mutex_);
  Status failure_ WEIR_GUARDED_BY(mutex_);
  bool is_connected_ WEIR_GUARDED_BY(mutex_) = false;
  ReadMark taken_ WEIR_GUARDED_BY(mutex_);
  size_t servers_ready_ WEIR_GUARDED_BY(mutex_) = 0;  // whose pieces the replica holds
  uint64_t submitted_ WEIR_GUARDED_BY(mutex_) = 0;
  uint64_t parts_name_ WEIR_GUARDED_BY(mutex_) = 0;
  int64_t window_ WEIR_GUARDED_BY(mutex_);
  int64_t credits_taken_ WEIR_GUARDED_BY(mutex_) = 0;
  int64_t kept_bytes_ WEIR_GUARDED_BY(mutex_) = 0;  // of pushes that are not durable, all servers
  Outstanding outstanding_ WEIR_GUARDED_BY(mutex_);
  metrics::Histogram staleness_ WEIR_GUARDED_BY(mutex_);
  uint64_t reconnects_ WEIR_GUARDED_BY(mutex_) = 0;
  uint64_t replayed_ WEIR_GUARDED_BY(mutex_) = 0;

  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace weir::worker
