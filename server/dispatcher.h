// Where messages of workers become work for the strands, and finished work becomes messages: checks
// the session, numbers the push, queues its parts, sends the answers in order.
//
// Place in the life of a batch: I/O thread -> **number** -> strands -> outbox -> **answer**.
// Thread rule: I/O thread only. Borrows shard and transport; owns the sessions.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/rare_lines.h"
#include "common/cluster/membership.h"
#include "common/proto/protocol.pb.h"
#include "common/session/server_session.h"
#include "common/transport/transport.h"
#include "server/dispatched_worker.h"
#include "server/rounds.h"
#include "server/shard/pending.h"
#include "server/shard/shard.h"

namespace weir::server {

class Dispatcher {
 public:
  // What others want to know of what workers send; either may be empty.
  struct Listeners {
    // Something has come on the connection of this incarnation.
    std::function<void(cluster::Seat seat, uint64_t incarnation)> heard;
    // A push was queued, as this step of its stage: how far its lease has come.
    std::function<void(cluster::Seat seat, const v1::Push& push, uint64_t step)> offset;
  };

  // shard: null while it is being made. server_epoch: of this process's parameters, not 0.
  Dispatcher(Shard* shard, transport::ServerTransport* transport, v1::RunIdentity identity,
             uint64_t server_epoch, uint32_t shard_index, Listeners listeners);

  // How far the shard is that is being made: whoever says hello is told to come again.
  void SetLoading(const v1::Loading& loading) { loading_ = loading; }
  void Open(Shard* shard);
  // The model is being saved: pushes come too late.
  void EndTraining() { is_saved_ = true; }
  // The run is one in rounds: pushes say which they are of.
  void BeginRounds(int64_t notice_interval_ms) { rounds_.Begin(notice_interval_ms); }

  // run: that this server serves; 0: it has not been told yet.
  void OnHello(const transport::PeerId& peer, const v1::Hello& hello, uint64_t run);
  void OnPush(const transport::PeerId& peer, const v1::Push& push, transport::Message message);
  void OnPushPart(const transport::PeerId& peer, const v1::PushPart& part,
                  transport::Message message);
  void OnProposal(const transport::PeerId& peer, const v1::Proposal& proposal,
                  const transport::Message& message);
  // Nothing waits for it, and it for nothing.
  void OnProbe(const transport::PeerId& peer, const v1::Probe& probe);
  void OnModelPull(const transport::PeerId& peer, const v1::ModelPull& pull);
  void OnRowPull(const transport::PeerId& peer, const v1::RowPull& pull,
                 transport::Message message);
  // Of a run in rounds: who is gone from which; again changes nothing.
  void OnDepartures(const std::vector<v1::Departure>& departures);

  // Sends what the strands have finished.
  void Flush(const Outbox::Contents& finished);

  void Refuse(const transport::PeerId& peer, std::string reason, bool retry);
  // In the log, if not too much of this peer is there already.
  void Complain(const transport::PeerId& peer, const std::string& line) {
    complaints_.Warn(peer, line);
  }
  // Now and then: tells what was not told at once, so that the log is not filled, and who waits.
  void Tick(int64_t now_ms);

 private:
  using Worker = DispatchedWorker;

  void TakeConnection(Worker& worker, const transport::PeerId& old_peer, const v1::Hello& hello);
  // Why a push cannot be taken; empty where it can.
  std::string FaultOf(const Worker& worker, const v1::Push& push, bool is_new,
                      bool has_frames) const;
  // Of the stage's parameters, which the worker sees.
  uint64_t VersionOf(const Worker& worker) const { return shard_->version(worker.stage); }
  void Take(Worker& worker, const v1::Push& push, Contribution contribution);
  // The push is taken, as a part of that step.
  void AddPush(Worker& worker, const v1::Push& push, Contribution contribution,
               PendingStep* pending);
  void Answer(Worker& worker, const session::AnswerTask& task);
  void KeepForRound(const Worker& worker, const transport::PeerId& peer, const v1::Push& push,
                    Contribution contribution);
  void CloseRounds();
  void PostRound(std::vector<RoundGate<KeptPush>::Kept> pushes);
  void SendRoundNotices(int64_t now_ms);
  void RefuseWhileLoading(const transport::PeerId& peer);
  Worker* FindByPeer(const transport::PeerId& peer);
  Worker* Hear(const transport::PeerId& peer);  // the same, of whom something has come
  void SendAnswer(const PendingStep& step, PendingAnswer* pending);
  void SendRows(const PendingRows& rows);
  void SendSection(PendingSection& section);
  void Send(const transport::PeerId& peer, const v1::Header& header, std::vector<Bytes> body);
  void Send(const transport::PeerId& peer, transport::Message message);

  Shard* shard_ = nullptr;  // while it is being made
  transport::ServerTransport* const transport_;
  const v1::RunIdentity identity_;
  const uint64_t server_epoch_;
  const uint32_t shard_index_;
  const Listeners listeners_;
  v1::Loading loading_;
  // Whether workers have a stage of the model each: all or none. Unset before the first hello.
  std::optional<bool> in_stages_;
  bool is_saved_ = false;  // being: all sections are of one step, and later pushes come too late
  Rounds rounds_;
  RareWarnings complaints_;  // by peer
  std::map<cluster::Seat, Worker> workers_;
  std::map<transport::PeerId, cluster::Seat> peers_;  // current peer of each session
};

}  // namespace weir::server
