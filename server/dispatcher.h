// Where messages of workers become work for the strands, and finished work becomes messages: checks
// the session, numbers the push, queues its parts, sends the answers in order.
//
// Place in the life of a batch: I/O thread -> **number** -> strands -> outbox -> **answer**.
// Thread rule: I/O thread only. Borrows shard and transport; owns the sessions.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/proto/protocol.pb.h"
#include "common/session/server_session.h"
#include "common/transport/transport.h"
#include "server/dispatch_listeners.h"
#include "server/log/replay.h"
#include "server/log/server_life.h"
#include "server/log/server_log.h"
#include "server/mail.h"
#include "server/pulled_model.h"
#include "server/rounds.h"
#include "server/shard/pending.h"
#include "server/shard/shard.h"
#include "server/worker_table.h"

namespace weir::server {

class Dispatcher {
 public:
  using Listeners = DispatchListeners;

  // shard: null while it is being made. mail, life: outlive it.
  Dispatcher(Shard* shard, Mail* mail, v1::RunIdentity identity, const ServerLife* life,
             uint32_t shard_index, Listeners listeners);

  void Restore(Recovered recovered);  // what an earlier life of the server knew of workers
  ServerLog& log() { return log_; }   // where what is taken goes, and answers wait for it
  void LogState();                    // all that Restore wants, behind a snapshot

  // How far the shard is that is being made: whoever says hello is told to come again.
  void SetLoading(const v1::Loading& loading) { loading_ = loading; }
  void Open(Shard* shard);
  void EndTraining() { is_saved_ = true; }  // the model is being saved: pushes come too late
  void BeginRounds(int64_t notice_interval_ms) { rounds_.Begin(notice_interval_ms); }

  // run: that this server serves; 0: it has not been told yet.
  void OnHello(const transport::PeerId& peer, const v1::Hello& hello, uint64_t run);
  // Some message whose header is whole, and its frames are not.
  void OnDamage(const transport::PeerId& peer, const v1::Header& header, const Status& damage);
  void OnPush(const transport::PeerId& peer, const v1::Push& push, transport::Message message);
  void OnPushPart(const transport::PeerId& peer, const v1::PushPart& part,
                  transport::Message message);
  void OnProposal(const transport::PeerId& peer, const v1::Proposal& proposal,
                  const transport::Message& message);
  void OnProbe(const transport::PeerId& peer, const v1::Probe& probe);  // waits for nothing
  void OnModelPull(const transport::PeerId& peer, const v1::ModelPull& pull);
  void OnRowPull(const transport::PeerId& peer, const v1::RowPull& pull,
                 transport::Message message);
  // Of a run in rounds: who is gone from which; again changes nothing.
  void OnDepartures(const std::vector<v1::Departure>& departures);
  // Sends what the strands have finished and the log has.
  void Flush(const Outbox::Contents& finished);
  void Tick(int64_t now_ms);                  // now and then: tells who waits
  PulledModel& pulled() { return *pulled_; }  // of the shard that is open
  const DispatchedWorker* FindByPeer(const transport::PeerId& peer);  // null: not known

 private:
  using Worker = DispatchedWorker;
  // Far above what validate_config lets a worker have in flight: only a broken peer gets there.
  static constexpr int kMaxTasksInFlight = 256;

  // Why a hello is not taken up; where that is Unavailable, it may be said again.
  Status Check(const v1::Hello& hello, uint64_t run) const;
  Status CheckGrant(const v1::Hello& hello) const;  // of that: whether server 0 has let it in
  void Greet(Worker& worker, const transport::PeerId& peer, const v1::Hello& hello);
  void TakeConnection(Worker& worker, const transport::PeerId& old_peer, const v1::Hello& hello);
  // Why a push cannot be taken; empty where it can.
  std::string FaultOf(const Worker& worker, const v1::Push& push, bool is_new,
                      bool has_frames) const;
  uint64_t VersionOf(const Worker& worker) const { return shard_->version(worker.stage); }
  void Take(Worker& worker, const v1::Push& push, Contribution contribution);
  // The push is taken, as a part of that step.
  void AddPush(Worker& worker, const v1::Push& push, Contribution contribution,
               PendingStep* pending, v1::LogStep* logged);
  void Answer(Worker& worker, const session::AnswerTask& task);
  void Post(std::shared_ptr<PendingStep> pending, v1::LogStep step);
  void TellDurable();
  uint64_t DurableOf(Worker* worker, const PendingAnswer& answer) const;
  void KeepForRound(const Worker& worker, const transport::PeerId& peer, const v1::Push& push,
                    Contribution contribution);
  void CloseRounds();
  void SendAgreement(ProposalGate::Reply reply);
  void PostRound(std::vector<RoundGate<KeptPush>::Kept> pushes);
  void PutOff(const transport::PeerId& peer, const std::string& why, const v1::Loading* loading);
  Worker* Hear(const transport::PeerId& peer);  // of whom something has come; null: not known
  void SendAnswer(const PendingStep& step, PendingAnswer* pending);
  void SendRows(const PendingRows& rows);
  void StepPulledModel();
  void SendSection(std::optional<PulledModel::Reply> reply);

  Shard* shard_ = nullptr;  // while it is being made
  Mail* const mail_;
  const v1::RunIdentity identity_;
  const ServerLife* const life_;
  const uint32_t shard_index_;
  const Listeners listeners_;
  v1::Loading loading_;
  // Whether workers have a stage of the model each: all or none. Unset before the first hello.
  std::optional<bool> in_stages_;
  bool is_saved_ = false;  // being: later pushes come too late
  Rounds rounds_;
  ServerLog log_;
  std::optional<PulledModel> pulled_;  // of the shard that there is
  WorkerTable workers_;
};

}  // namespace weir::server
