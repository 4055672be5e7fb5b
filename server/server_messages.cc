// Which part of a server a message goes to.

#include <utility>

#include "common/session/header_message.h"
#include "server/server.h"

namespace weir::server {
namespace {

// Of those that wait, how many are taken before a tick: more than wait after any stall that
// heartbeats survive, and a bound for who never stops sending.
constexpr int kMessagesBeforeTick = 1000;

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
  const transport::PeerId& peer = incoming.peer;
  const auto header = session::ParseHeader(incoming.message);
  if (!header) return mail_.Refuse(peer, "a message without a header that parses", false);
  switch (header->body_case()) {
    case v1::Header::kPush:
      return dispatcher_->OnPush(peer, header->push(), std::move(incoming.message));
    case v1::Header::kPushPart:
      return dispatcher_->OnPushPart(peer, header->push_part(), std::move(incoming.message));
    case v1::Header::kRowPull:
      return dispatcher_->OnRowPull(peer, header->row_pull(), std::move(incoming.message));
    case v1::Header::kProposal:
      return dispatcher_->OnProposal(peer, header->proposal(), incoming.message);
    case v1::Header::kProbe:
      return dispatcher_->OnProbe(peer, header->probe());
    case v1::Header::kModelPull:
      return dispatcher_->OnModelPull(peer, header->model_pull());
    case v1::Header::kHello:
      return dispatcher_->OnHello(peer, header->hello(), run_);
    default:
      return ReceiveControl(peer, *header, incoming.message, now_ms);
  }
}

// What was known before is not there yet; who asks, asks again.
void Server::ReceiveControl(const transport::PeerId& peer, const v1::Header& header,
                            const transport::Message& message, int64_t now_ms) {
  if (!control_) return mail_.Refuse(peer, "this server is not shard 0, the coordinator", false);
  if (is_loaded_ || life_.is_first()) control_->Take(peer, header, message, now_ms);
}

}  // namespace weir::server
