// Of a run in rounds: what waits for others, and becomes a union or a step once all are there.

#include <utility>

#include "common/base/strings.h"
#include "server/dispatcher.h"
#include "server/staleness.h"

namespace weir::server {

void Dispatcher::OnProposal(const transport::PeerId& peer, const v1::Proposal& proposal,
                            const transport::Message& message) {
  Worker* const worker = Hear(peer);
  if (worker == nullptr) return mail_->Refuse(peer, "a proposal without a hello", true);
  if (!rounds_.has_begun() || proposal.round() == 0) {
    return mail_->Refuse(peer, "a proposal of no round; rounds are those of consistency.sync",
                         false);
  }
  if (!worker->session.Serves(peer, proposal.connection())) return;  // of an earlier connection
  Result<AgreedElements> elements = shard_->RouteProposal(message);
  if (!elements.ok()) return mail_->Refuse(peer, elements.status().message(), false);
  auto reply = rounds_.proposals().Keep(SenderOf(worker->seat.trainer, peer, proposal), proposal,
                                        *std::move(elements));
  if (!reply.ok()) return mail_->Refuse(peer, reply.status().message(), false);
  if (*reply) return SendAgreement(*std::move(*reply));
  CloseRounds();
}

// A trainer that has it pushes by it, and asks nobody again.
void Dispatcher::SendAgreement(ProposalGate::Reply reply) {
  log_.AwaitDurable(log_.last_number(),
                    [this, reply = std::move(reply)] { mail_->Send(reply.peer, reply.message); });
}

void Dispatcher::KeepForRound(const Worker& worker, const transport::PeerId& peer,
                              const v1::Push& push, Contribution contribution) {
  const Status kept = rounds_.pushes().Keep(SenderOf(worker.seat.trainer, peer, push),
                                            {push, std::move(contribution)});
  if (!kept.ok()) return mail_->Refuse(peer, kept.message(), false);
  CloseRounds();
}

void Dispatcher::CloseRounds() {
  for (auto replies = rounds_.proposals().Close(); !replies.empty();
       replies = rounds_.proposals().Close()) {
    const uint64_t round = replies[0].round;
    const ProposalGate::Closed& closed = *rounds_.proposals().Find(round);
    log_.AddAgreement(round, closed.members, closed.agreement, closed.frames);
    for (ProposalGate::Reply& reply : replies) SendAgreement(std::move(reply));
  }
  for (auto pushes = rounds_.pushes().Close(); !pushes.empty(); pushes = rounds_.pushes().Close()) {
    PostRound(std::move(pushes));
  }
}

// Now each push is taken: a connection that breaks from here on is answered anew.
void Dispatcher::PostRound(std::vector<RoundGate<KeptPush>::Kept> pushes) {
  using Kind = session::ServerSession::Judgement::Kind;
  auto pending = std::make_shared<PendingStep>();
  pending->is_step = true;
  v1::LogStep logged;
  const uint64_t round = pushes[0].sender.round;
  pending->agreed = rounds_.proposals().UnionOf(round);
  std::vector<KeptPulls::Pull> pulls;
  for (auto& [sender, kept] : pushes) {
    for (auto& pull : rounds_.pulls().Take(sender.trainer)) pulls.push_back(std::move(pull));
    Worker& worker = workers_.Of({sender.trainer, 0});
    // Else it has said something else of that number since.
    const auto kind = worker.session.Judge(sender.peer, kept.push).kind;
    if (kind == Kind::kNew)
      AddPush(worker, kept.push, std::move(kept.contribution), pending.get(), &logged);
  }
  Post(std::move(pending), std::move(logged));
  rounds_.proposals().Forget(round);
  for (KeptPulls::Pull& pull : pulls) OnRowPull(pull.peer, pull.pull, std::move(pull.message));
}

void Dispatcher::OnDepartures(const std::vector<v1::Departure>& departures) {
  rounds_.Leave(departures);
  CloseRounds();
}

void Dispatcher::Tick(int64_t now_ms) {
  const auto waits = pulled_ ? pulled_->TakeKeptWaiting(now_ms) : std::nullopt;
  if (const Worker* worker = waits ? workers_.FindByPeer(*waits) : nullptr) {
    v1::Header header;
    header.mutable_round_notice()->set_connection(worker->session.connection());
    mail_->Send(*waits, header);
  }
  for (AddressedNotice& notice : rounds_.TakeNotices(now_ms)) {
    v1::Header header;
    *header.mutable_round_notice() = std::move(notice.notice);
    mail_->Send(notice.peer, header);
  }
}

}  // namespace weir::server
