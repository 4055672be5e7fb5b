// Which part of a server a message goes to.

#include <utility>

#include "common/keys/key_folder.h"
#include "common/session/damage.h"
#include "common/session/header_message.h"
#include "common/session/speaker.h"
#include "server/server.h"

namespace weir::server {
namespace {

// Of those that wait, how many are taken before a tick: more than wait after any stall that
// heartbeats survive, and a bound for who never stops sending.
constexpr int kMessagesBeforeTick = 1000;

// Who names nobody speaks for the worker whose hello came over its connection. That is known by its
// routing id alone, and ZeroMQ lets each peer choose its own.
Status CheckWhoSpeaks(const transport::IncomingMessage& incoming, const v1::Header& header,
                      const DispatchedWorker* worker) {
  WEIR_RETURN_IF_ERROR(session::CheckSpeaker(incoming.name, header));
  if (header.has_hello() || worker == nullptr) return OkStatus();
  return session::CheckSpeaker(incoming.name,
                               keys::WorkerName(worker->seat.trainer, worker->seat.stage));
}

// Whether it is one of these, and so has been taken.
bool TakeIfPush(const v1::Header& header, transport::IncomingMessage* incoming,
                Dispatcher* dispatcher) {
  const transport::PeerId& peer = incoming->peer;
  if (header.has_push()) {
    dispatcher->OnPush(peer, header.push(), std::move(incoming->message));
  } else if (header.has_push_part()) {
    dispatcher->OnPushPart(peer, header.push_part(), std::move(incoming->message));
  } else if (header.has_proposal()) {
    dispatcher->OnProposal(peer, header.proposal(), incoming->message);
  } else {
    return false;
  }
  return true;
}

bool TakeIfPull(const v1::Header& header, transport::IncomingMessage* incoming,
                Dispatcher* dispatcher) {
  const transport::PeerId& peer = incoming->peer;
  if (header.has_row_pull()) {
    dispatcher->OnRowPull(peer, header.row_pull(), std::move(incoming->message));
  } else if (header.has_model_pull()) {
    dispatcher->OnModelPull(peer, header.model_pull());
  } else if (header.has_probe()) {
    dispatcher->OnProbe(peer, header.probe());
  } else {
    return false;
  }
  return true;
}

}  // namespace

// A tick judges who was silent. After a stall of this thread the proof that they were not is still
// in the queue.
void Server::ReceiveQueued() {
  for (int i = 0; i < kMessagesBeforeTick && !stopping_; ++i) {
    if (!ReceiveOne(0)) return;
  }
}

void Server::Receive(transport::IncomingMessage incoming, int64_t now_ms) {
  received_ms_ = now_ms;
  const auto header = session::ParseHeader(incoming.message);
  if (!header.ok()) {  // what was damaged may come whole another time
    return mail_.Refuse(incoming.peer, header.status().message(),
                        header.status().code() == StatusCode::kInvalidData);
  }
  const Status may = CheckWhoSpeaks(incoming, *header, dispatcher_->FindByPeer(incoming.peer));
  if (!may.ok()) {
    mail_.Complain(incoming.peer, may.message());
    return mail_.Refuse(incoming.peer, may.message(), false);
  }
  const Status whole = session::CheckFrames(*header, incoming.message);
  if (!whole.ok()) return dispatcher_->OnDamage(incoming.peer, *header, whole);
  if (header->has_hello()) return dispatcher_->OnHello(incoming.peer, header->hello(), run_);
  if (TakeIfPush(*header, &incoming, dispatcher_.get())) return;
  if (TakeIfPull(*header, &incoming, dispatcher_.get())) return;
  ReceiveControl(incoming.peer, *header, incoming.message, now_ms);
}

// What was known before is not there yet; who asks, asks again.
void Server::ReceiveControl(const transport::PeerId& peer, const v1::Header& header,
                            const transport::Message& message, int64_t now_ms) {
  if (!control_) return mail_.Refuse(peer, "this server is not shard 0, the coordinator", false);
  if (is_loaded_ || life_.is_first()) control_->Take(peer, header, message, now_ms);
}

}  // namespace weir::server
