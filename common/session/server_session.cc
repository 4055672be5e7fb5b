#include "common/session/server_session.h"

#include "common/base/strings.h"

namespace weir::session {

AnswerTask ServerSession::NewTask(uint64_t since, bool apply) {
  AnswerTask task;
  task.slot = {trainer_, stage_, incarnation_, connection_, next_index_++};
  task.sequence = last_sequence_;
  task.since = since;
  task.apply = apply;
  return task;
}

ServerSession::Verdict ServerSession::OnHello(const std::string& peer, const v1::Hello& hello,
                                              uint64_t server_epoch, uint64_t current_version) {
  Verdict verdict;
  if (hello.incarnation() == 0 || hello.connection() == 0) {
    verdict.refusal = "a hello needs an incarnation and a connection number";
    return verdict;
  }
  if (hello.incarnation() < incarnation_) {
    verdict.refusal = StrCat("incarnation ", hello.incarnation(), " of trainer ", trainer_,
                             " stage ", stage_, " was replaced by incarnation ", incarnation_);
    return verdict;
  }
  if (hello.incarnation() == incarnation_ && hello.connection() <= connection_) return verdict;

  if (hello.incarnation() > incarnation_) {
    incarnation_ = hello.incarnation();
    last_sequence_ = 0;
  }
  peer_ = peer;
  connection_ = hello.connection();
  next_index_ = next_to_send_ = 0;
  built_.clear();
  const bool knows_version =
      hello.server_epoch() == server_epoch && hello.version() <= current_version;
  const uint64_t since = knows_version ? hello.version() : kNoVersion;
  cursor_ = current_version;

  v1::HelloReply reply;
  reply.set_connection(connection_);
  reply.set_server_epoch(server_epoch);
  reply.set_last_sequence(last_sequence_);
  verdict.reply = std::move(reply);
  verdict.task = NewTask(since, false);
  return verdict;
}

ServerSession::Judgement ServerSession::Judge(const std::string& peer, const v1::Push& push) const {
  using Kind = Judgement::Kind;
  if (incarnation_ == 0) return {Kind::kRefused, "a push without a hello"};
  if (!Serves(peer, push.connection())) return {};
  if (push.sequence() > last_sequence_ + 1) {
    return {Kind::kRefused, StrCat("push ", push.sequence(), " came after ", last_sequence_)};
  }
  return {push.sequence() > last_sequence_ ? Kind::kNew : Kind::kRepeated};
}

AnswerTask ServerSession::Take(const v1::Push& push, uint64_t current_version) {
  const bool is_new = push.sequence() == last_sequence_ + 1;
  if (is_new) last_sequence_ = push.sequence();
  AnswerTask task = NewTask(cursor_, is_new);
  cursor_ = current_version + (is_new && !push.is_refresh() ? 1 : 0);
  return task;
}

std::vector<transport::Message> ServerSession::OnAnswerBuilt(const AnswerSlot& slot,
                                                             transport::Message message) {
  std::vector<transport::Message> ready;
  if (slot.incarnation != incarnation_ || slot.connection != connection_) return ready;
  built_.emplace(slot.index, std::move(message));
  while (!built_.empty() && built_.begin()->first == next_to_send_) {
    ready.push_back(std::move(built_.begin()->second));
    built_.erase(built_.begin());
    ++next_to_send_;
  }
  return ready;
}

}  // namespace weir::session
