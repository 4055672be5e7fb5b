// The part of shard 0 that runs the run: admits workers, lends them input, hears how they are,
// ends. Glue between messages and state machines that each know one thing: who may take part
// (Admission), who holds a seat and is silent (Membership), what is trained when and what workers
// have counted and scored (RunBook), the stages of a trainer (PipelineBook) and whether they have
// pushed all before an evaluation (SettlingBook), whether the model is saved (SaverWatch),
// what servers save of it (SaveBook), the other servers (ShardBook), and which of them load
// (LoadingBook).
//
// Place in the life of a batch: before it (join, **lease**) and after it (completion, progress).
// Thread rule: I/O thread of shard 0 only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/executor.h"
#include "common/base/status.h"
#include "common/cluster/admission.h"
#include "common/cluster/last_words.h"
#include "common/cluster/membership.h"
#include "common/cluster/pipeline_book.h"
#include "common/cluster/run_book.h"
#include "common/cluster/saved_map.h"
#include "common/cluster/saver_watch.h"
#include "common/cluster/settling_book.h"
#include "common/proto/config.pb.h"
#include "common/proto/protocol.pb.h"
#include "common/proto/saved_model.pb.h"
#include "common/transport/message.h"
#include "common/transport/transport.h"
#include "server/coordinator/bound_totals.h"
#include "server/coordinator/checkpoints.h"
#include "server/coordinator/loading_book.h"
#include "server/coordinator/save_book.h"
#include "server/coordinator/shard_book.h"

namespace weir::server {

// Who has asked within so long to join, and was to wait, asks again (workers do every 300 ms).
inline constexpr int64_t kKnockMs = 2000;

inline cluster::Seat SeatOf(const v1::Speaker& speaker) {
  return {speaker.trainer(), speaker.stage()};
}

class Coordinator {
 public:
  // run: a number that tells this run from others at the same address, not 0. server_addresses: for
  // messages; may be empty.
  Coordinator(const v1::Config& config, v1::RunIdentity identity, uint32_t server_count,
              uint64_t run, std::vector<std::string> server_addresses = {},
              Executor& executor = Executor::Threads());

  uint64_t run() const { return run_; }

  // Before the first of the run, as RunDirector has it.
  void BeginAfter(const v1::RuleStarts& starts) { director_.BeginAfter(starts); }

  // Each returns the reply, if there is one to send.
  v1::Header OnJoin(const v1::Join& join, int64_t now_ms);
  std::optional<v1::Header> OnHeartbeat(const v1::Heartbeat& heartbeat, int64_t now_ms);
  std::optional<v1::Header> OnWorkRequest(const v1::WorkRequest& request,
                                          const transport::Message& message,
                                          const transport::PeerId& peer, int64_t now_ms);
  std::optional<v1::Header> OnReport(const v1::Report& report, const transport::PeerId& peer,
                                     int64_t now_ms);
  std::optional<v1::Header> OnLeave(const v1::Leave& leave, int64_t now_ms);
  struct HeldReply {
    cluster::Seat seat;
    transport::PeerId peer;  // to whom it goes
    v1::Header header;
  };
  // Replies that were held back because there was nothing to do: when there is something, or they
  // have waited for long; and those to last reports, which have waited for others'. Call it after
  // each message and each tick.
  std::vector<HeldReply> TakeHeldReplies(int64_t now_ms);
  // Nobody was there to take it: what it lends goes to others, and it counts as not given.
  void OnLostReply(cluster::Seat seat);
  std::optional<v1::Header> OnShardReport(const v1::ShardReport& report, int64_t now_ms);
  // How far a server is with its parameters, this one too; and that it has them. Nobody can join
  // while one is known to load.
  void OnLoading(uint32_t server, const v1::Loading& loading) { loading_.Take(server, loading); }
  void OnLoaded(uint32_t server) { loading_.Finish(server); }
  // This server cannot, or cannot write its log: the run ends, and those who wait are told why.
  void OnOwnEnd(const std::string& why, int64_t now_ms);

  // Before the first of the run: the servers save the model when it has finished well. learned: of
  // the model that it goes on from.
  void ServersSave(std::optional<v1::LearnedColumns> learned);
  // Whether this server, as the others, is to write its part; and how far it is, or why it cannot.
  bool wants_parts() const { return save_.has_begun() && !failed(); }
  void OnPart(const v1::PartReport& part) { save_.Take(0, part); }
  void OnPartFailure(const std::string& why);
  // Every part is on disk: what is left is to make a model of them, which has been done or cannot.
  bool wants_model() const { return save_.is_whole() && !failed(); }
  Result<v1::SavedModelManifest> Manifest() const { return save_.Manifest(); }
  void OnModel() { saver_.OnServersSaved(); }
  void OnModelFailure(const std::string& why);

  // What becomes of the run's checkpoints. learned: as of ServersSave.
  void StartCheckpoints(const Checkpoints::Beginning& beginning,
                        std::optional<v1::LearnedColumns> learned);
  Checkpoints& checkpoints() { return checkpoints_; }
  const std::optional<v1::LearnedColumns>& learned() const { return save_.learned(); }
  void StepCheckpoints(int64_t now_ms);  // after each event

  // Something else of this worker has come to shard 0, so it lives: its heartbeats may be stuck
  // behind its pushes.
  void OnWord(cluster::Seat seat, uint64_t incarnation, int64_t now_ms);
  // Its connection has ended, behind all that came over it.
  void OnParted(cluster::Seat seat, uint64_t incarnation, int64_t now_ms) {
    membership_.Parted(seat, incarnation, now_ms);
  }
  // A push of this worker was queued, as this step of its stage: how far its lease has come.
  void OnOffset(cluster::Seat seat, const v1::Push& push, uint64_t step);

  // Of a run in rounds: who is gone from which.
  std::vector<v1::Departure> departures() const { return director_.departures(); }
  // Whether this process of the seat is the last one that was let in.
  bool IsGranted(cluster::Seat seat, uint64_t incarnation) const {
    return incarnation != 0 && membership_.LastIncarnation(seat) == incarnation;
  }

  void Tick(int64_t now_ms);
  void Fail(std::string reason);

  // The run has ended, and everybody who is still there has said farewell or had time enough to.
  // Whoever saves the model, or asked servers to stay, has as long as it is heard of; a saver that
  // is not there, cluster.join_timeout_ms to come.
  bool over(int64_t now_ms) const;
  bool has_finished_well() const { return !running() && !failed(); }
  bool failed() const {
    return director_.state() == cluster::RunDirector::State::kFailed || !saver_.loss().empty();
  }
  const std::string& failure() const {
    return saver_.loss().empty() ? director_.failure() : saver_.loss();
  }

  // What is another than when it was last called; the first time all there is. Replies that were
  // held back are not in it: who waits for one asks again. Call it after each event, before what it
  // replied leaves, and take all of a call or nothing.
  void SaveChanges(cluster::SavedParts* parts);
  // Into one made like the one that was saved, and told alike what comes before the first of the
  // run. Whoever was there counts as heard of at now_ms; a server that loads is heard of again.
  // InvalidData, and it is of no use, when the parts are no state of such a one.
  Status Load(const cluster::PartMap& parts, int64_t now_ms);
  // After it: a run that had failed, for want of room on a disk say, goes on. Trainers have as much
  // time to come back as to come at the start: they may have died, too.
  void TryAgain();
  // How many lives of this server in the run are over.
  void SetLivesEnded(uint64_t count) { lives_ended_ = count; }
  // What servers have scaled down of pushes.
  BoundTotals& bounded() { return bounded_; }
  static void Fields(auto& self, auto& state) {
    state(self.saver_, self.started_ms_, self.anyone_joined_, self.last_knock_ms_);
    state(self.last_waited_ms_, self.told_of_start_, self.ended_ms_);
  }

 private:
  struct Desk {  // what is remembered of one worker
    uint64_t incarnation = 0;
    uint64_t last_request_id = 0;
    bool has_left = false;
    std::string gone = "has left";  // why, once it is no member any more
    bool saves = false;
    bool stays = false;  // servers are needed until it has left, because it saves or asked for it
    bool expects_model = false;  // by itself or another; the next in its seat may not
    v1::Header last_reply;
    static void Fields(auto& self, auto& state) {
      state(self.incarnation, self.last_request_id, self.has_left, self.gone);
      state(self.saves, self.stays, self.expects_model, self.last_reply);
    }
  };
  // Of a worker that waits for something to do.
  struct Held {
    transport::PeerId peer;   // to whom the reply goes
    v1::WorkRequest request;  // without what was taken of it
    int64_t since_ms = 0;
  };
  // Of a worker whose last report waits for those of others.
  struct HeldReport {
    transport::PeerId peer;
    v1::Report report;  // without what was counted
  };
  // Of a number that is looked at in each tick: for how long it has been what it is.
  class Unchanged {
   public:
    int64_t For(uint64_t number, int64_t now_ms) {
      if (number != number_) since_ms_ = now_ms;
      number_ = number;
      return now_ms - since_ms_;
    }

   private:
    uint64_t number_ = 0;
    int64_t since_ms_ = 0;
  };

  Status CheckJoin(const v1::Join& join);
  v1::Header RefuseOtherRun(const std::string& difference, const v1::RunIdentity& other) const;
  v1::Header RefuseWhileLoading(int64_t now_ms);
  v1::Header RefuseOverRun(const v1::Join& join) const;
  static v1::Header RefuseTakenSeat(const v1::Join& join,
                                    const cluster::Membership::Admission& admission);
  void Admit(const v1::Join& join, const cluster::Membership::Admission& admission, int64_t now_ms);
  v1::Header AdmissionReply(const v1::Join& join,
                            const cluster::Membership::Admission& admission) const;
  void TakeSeatAnew(cluster::Seat seat, uint64_t incarnation);

  // Of a worker that has ever joined.
  bool Saves(cluster::Seat seat) const;
  // What of a word ends the matter: it comes from nobody who is a member, or has left since.
  struct Hearing {
    bool is_heard = false;
    std::optional<v1::Header> refusal;  // else; nothing: there is none to send
  };
  Hearing Hear(const v1::Speaker& speaker, int64_t now_ms);
  // A double of something that was sent before its sender left.
  bool IsAfterFarewell(const v1::Speaker& speaker) const;
  // A worker gives up. The run ends with it, unless it may go on with another trainer and loses
  // nothing that only this worker would have kept.
  void TakeFailure(cluster::Seat seat, const v1::Leave& leave);
  void TakeLateFailure(cluster::Seat seat, std::string reason);
  void Dismiss(cluster::Seat seat, int64_t now_ms);
  // The reply that it got before, if it is a repeated request, or an old one, which gets none.
  struct Repeat {
    bool is_one = false;
    std::optional<v1::Header> reply;
  };
  Repeat FindRepeat(cluster::Seat seat, uint64_t request_id);
  void TellNews(v1::ShardReply* reply) const;
  void TakeProgress(const v1::ShardReport& report);
  void TakeReport(cluster::Seat seat, const v1::WorkerReport& report);
  void TakeWork(const v1::WorkRequest& request, cluster::Seat seat,
                const transport::Message& message, int64_t now_ms);
  void Settle(cluster::Seat seat, bool is_busy, int64_t now_ms);

  void Remember(cluster::Seat seat, uint64_t request_id, const v1::Header& reply);
  int64_t LongestHoldMs() const;
  bool CanHold(int64_t for_ms) const;
  // It is the request of which the reply is held already.
  bool IsHeld(const v1::WorkRequest& request, const transport::PeerId& peer);
  void FinishReply(const v1::WorkRequest& request, int64_t now_ms, HeldReply* reply);
  // Holds the reply back if there is nothing to do and the worker waits as well.
  bool Hold(const v1::WorkRequest& request, const transport::PeerId& peer,
            const v1::WorkReply& reply, int64_t now_ms);
  void FillReply(const v1::WorkRequest& request, cluster::Seat seat, int64_t now_ms,
                 v1::WorkReply* reply);
  void FillWork(const v1::WorkRequest& request, cluster::Seat seat, int64_t now_ms,
                v1::WorkReply* reply);
  void FillRun(const v1::WorkRequest& request, int64_t now_ms, v1::WorkReply* reply);
  v1::Header ReplyToReport(const v1::Report& report, int64_t now_ms);
  void ReleaseReports(int64_t now_ms, std::vector<HeldReply>* replies);

  void Expire(int64_t now_ms);
  void CheckTrainers(int64_t now_ms);
  void CheckFirstTrainer(int64_t now_ms);
  void CheckFirstRound(int64_t now_ms);
  void CheckSettling(int64_t now_ms);
  void RevokeLeases(int64_t now_ms);
  void CheckLeases(int64_t now_ms);
  void CheckShards(int64_t now_ms);
  void CheckSaving(int64_t now_ms);

  bool running() const { return director_.state() == cluster::RunDirector::State::kRunning; }
  // Whether somebody still needs the parameters, or may.
  bool needs_servers() const;
  // A run that has failed, or was stopped, leaves a checkpoint of which all is put aside.
  bool ClosesCheckpoint(int64_t now_ms) const;
  // Whether it can train is CheckTrainers' business.
  bool HasOtherTrainer(uint32_t trainer) const;
  bool IsAwaitedToSettle(cluster::Seat seat) const;
  // Of the desks at which a member sits: whether one is as it is asked for.
  bool HasMember(const std::function<bool(cluster::Seat, const Desk&)>& is_asked_for) const;
  // "trainer 0, trainer 2": members that are as asked for.
  std::string Names(const std::function<bool(cluster::Seat)>& is_asked_for) const;
  // "trainer 0 was silent for more than 15000 ms, trainer 1 has left".
  std::string DescribeGone() const;

  const v1::Config config_;
  const v1::RunIdentity identity_;
  const uint32_t server_count_;
  const uint64_t run_;
  cluster::Admission admission_;
  cluster::Membership membership_;
  cluster::RunBook run_book_;
  cluster::RunDirector& director_;  // of the book, and so are the reports
  cluster::ReportBook& reports_;
  Checkpoints checkpoints_;
  cluster::PipelineBook pipelines_;
  cluster::SettlingBook settling_;
  cluster::LastWords last_words_;
  cluster::SaverWatch saver_;
  SaveBook save_;
  ShardBook shards_;
  LoadingBook loading_;
  cluster::SavedMap<cluster::Seat, Desk> desks_{"desk"};
  std::map<cluster::Seat, Held> held_;
  std::map<cluster::Seat, HeldReport> held_reports_;
  uint64_t looked_at_changes_ = 0;  // director_.changes(), when held_ was last looked at
  int64_t looked_at_ms_ = 0;
  std::optional<int64_t> started_ms_;  // the first tick: from then on others can join
  bool anyone_joined_ = false;
  bool awaits_return_ = false;  // nobody has been heard of in this life yet, which is not the first
  std::optional<int64_t> last_knock_ms_;  // when somebody last asked for a seat that was taken
  // When somebody was last known to wait for servers that load, or for a seat.
  std::optional<int64_t> last_waited_ms_;
  Unchanged awaited_loading_;   // bytes that servers have loaded
  Unchanged awaited_settling_;  // director_.settling()
  Unchanged awaited_start_;     // of the first round: the trainers that are there
  bool told_of_start_ = false;
  Unchanged awaited_work_;   // director_.awaited_work()
  Unchanged awaited_parts_;  // save_.progress()
  std::optional<int64_t> ended_ms_;
  BoundTotals bounded_;
  uint64_t lives_ended_ = 0;  // of this server, before the present one

  cluster::WholePart saved_coordinator_{"coordinator"};
  cluster::WholePart saved_admission_{"admission"};
  bool has_admitted_ = true;  // since that was saved
};

}  // namespace weir::server
