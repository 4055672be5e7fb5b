// Which part of a server a message goes to.

#include <utility>

#include "common/session/header_message.h"
#include "server/server.h"

namespace weir::server {

void Server::Receive(transport::IncomingMessage incoming, int64_t now_ms) {
  received_ms_ = now_ms;
  const transport::PeerId& peer = incoming.peer;
  const auto header = session::ParseHeader(incoming.message);
  if (!header) return dispatcher_->Refuse(peer, "a message without a header that parses", false);
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

void Server::ReceiveControl(const transport::PeerId& peer, const v1::Header& header,
                            const transport::Message& message, int64_t now_ms) {
  if (!coordinator_) {
    return dispatcher_->Refuse(peer, "this server is not shard 0, the coordinator", false);
  }
  switch (header.body_case()) {
    case v1::Header::kJoin:
      Reply(peer, coordinator_->OnJoin(header.join(), now_ms));
      return;
    case v1::Header::kShardReport:
      if (auto reply = coordinator_->OnShardReport(header.shard_report(), now_ms)) {
        if (reply->shard_reply().state() == v1::ShardReply::RUNNING) transport_->Welcome(peer);
        Reply(peer, *reply);
      }
      return;
    case v1::Header::kHeartbeat:
      return ReplyIfAny(peer, coordinator_->OnHeartbeat(header.heartbeat(), now_ms));
    case v1::Header::kWorkRequest:
      return ReplyIfAny(peer,
                        coordinator_->OnWorkRequest(header.work_request(), message, peer, now_ms));
    case v1::Header::kReport:
      return ReplyIfAny(peer, coordinator_->OnReport(header.report(), peer, now_ms));
    case v1::Header::kLeave:
      return ReplyIfAny(peer, coordinator_->OnLeave(header.leave(), now_ms));
    default:
      return dispatcher_->Refuse(peer, "a message that servers do not take", false);
  }
}

void Server::ReplyIfAny(const transport::PeerId& peer, const std::optional<v1::Header>& header) {
  if (header) Reply(peer, *header);
}

bool Server::Reply(const transport::PeerId& peer, const v1::Header& header) {
  const Status status = transport_->Send(peer, session::MakeMessage(header));
  if (!status.ok()) dispatcher_->Complain(peer, "reply lost: " + status.ToString());
  return status.ok();
}

}  // namespace weir::server
