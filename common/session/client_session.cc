#include "common/session/client_session.h"

#include <algorithm>

#include "common/base/check.h"
#include "common/base/strings.h"
#include "common/session/server_session.h"

namespace weir::session {
namespace {

// On a slower network than this (8 Mbit/s) a silence may be only what pushes take on their way. A
// new connection would have them sent again, behind what the old one still has.
constexpr int64_t kSlowBytesPerMs = 1000;

// A peer that refuses for a moment is there, as is one that takes a connection and ends it: nothing
// is to be spared by waiting longer. By waiting so long, much is: it may end each one.
constexpr int64_t kFirstRefusedRetryMs = 10, kRefusedRetryMs = 300;
// Loading may take minutes, and each try is a connection: at most so long, and shorter at first.
constexpr int64_t kLoadingRetryMs = 1000;

int64_t BodyBytes(const std::vector<transport::Part>& body) {
  int64_t total = 0;
  for (const transport::Part& part : body) total += static_cast<int64_t>(part.size());
  return total;
}

std::string WhatIsOwed(uint64_t accepted, uint64_t durable, uint64_t submitted) {
  if (accepted < submitted) return StrCat("push ", accepted + 1, " of ", submitted);
  if (durable < submitted) return StrCat("word that push ", durable + 1, " is safe");
  return "a request for rows or for work, or a heartbeat";
}

}  // namespace

int64_t SilenceMs(int64_t answer_timeout_ms) {
  return std::clamp<int64_t>(answer_timeout_ms / 8, 100, 3000);
}

ClientSession::ClientSession(ClientSessionOptions options)
    : options_(std::move(options)),
      answer_patience_(options_.silence_ms,
                       std::max(options_.silence_ms, options_.answer_timeout_ms / 2)),
      data_patience_(answer_patience_),
      word_patience_(answer_patience_) {}

ClientActions ClientSession::Start(int64_t now_ms) {
  CHECK(state_ == State::kIdle);
  progress_ms_ = now_ms;
  retry_ms_ = options_.first_retry_ms;
  ClientActions actions;
  Connect(now_ms, actions);
  return actions;
}

void ClientSession::Connect(int64_t now_ms, ClientActions& actions) {
  reconnects_ += state_ == State::kReady;
  state_ = State::kConnecting;
  is_broken_ = false;
  ++connection_;
  opened_ms_ = heard_ms_ = now_ms;
  retry_ms_ = std::min(2 * retry_ms_, options_.silence_ms);

  actions.push_back({.kind = ClientAction::Kind::kConnect});
  ClientAction send{.kind = ClientAction::Kind::kSend};
  v1::Hello& hello = *send.header.mutable_hello();
  *hello.mutable_identity() = options_.identity;
  hello.set_trainer(options_.trainer);
  hello.set_stage(options_.stage);
  hello.set_stage_count(options_.stage_count);
  hello.set_incarnation(options_.incarnation);
  hello.set_membership_epoch(options_.membership_epoch);
  hello.set_run(options_.run);
  hello.set_connection(connection_);
  if (server_epoch_ != 0) {
    hello.set_server_epoch(server_epoch_);
    hello.set_version(has_version_ && !needs_all_ ? version_ : kNoVersion);
  }
  actions.push_back(std::move(send));
}

void ClientSession::SendParts(uint64_t name, const std::vector<Body>& parts, size_t first,
                              ClientActions& actions) const {
  for (size_t i = first; i < parts.size(); ++i) {
    ClientAction send{.kind = ClientAction::Kind::kSend, .body = parts[i]};
    v1::PushPart& part = *send.header.mutable_push_part();
    part.set_connection(connection_);
    part.set_name(name);
    part.set_number(static_cast<uint32_t>(i));
    actions.push_back(std::move(send));
  }
}

ClientActions ClientSession::SubmitPart(uint64_t name, Body body, int64_t now_ms) {
  if (state_ == State::kFailed) return {};
  if (!IsOwed()) progress_ms_ = heard_ms_ = now_ms;
  kept_bytes_ += BodyBytes(body);
  std::vector<Body>& parts = begun_[name];
  parts.push_back(std::move(body));
  ClientActions actions;
  if (state_ == State::kReady) SendParts(name, parts, parts.size() - 1, actions);
  return actions;
}

// Its parts have left already, but on another connection.
void ClientSession::SendPush(const KeptPush& kept, ClientActions& actions) {
  if (kept.push.sequence() <= sent_) ++replayed_;
  sent_ = std::max(sent_, kept.push.sequence());
  ClientAction send{.kind = ClientAction::Kind::kSend, .body = kept.body};
  *send.header.mutable_push() = kept.push;
  send.header.mutable_push()->set_connection(connection_);
  actions.push_back(std::move(send));
}

ClientActions ClientSession::Submit(v1::Push push, std::vector<transport::Part> body,
                                    int64_t now_ms) {
  if (state_ == State::kFailed) return {};
  if (!IsOwed()) progress_ms_ = heard_ms_ = now_ms;
  push.set_sequence(++submitted_);
  kept_bytes_ += BodyBytes(body);
  std::vector<Body> parts;
  if (auto begun = begun_.extract(push.parts_name())) parts = std::move(begun.mapped());
  push.set_part_count(static_cast<uint32_t>(parts.size()));
  kept_.push_back({std::move(push), std::move(parts), std::move(body)});
  ClientActions actions;
  if (state_ == State::kReady) SendPush(kept_.back(), actions);
  return actions;
}

ClientActions ClientSession::OnHelloReply(const v1::HelloReply& reply, int64_t now_ms) {
  ClientActions actions;
  if (state_ != State::kConnecting || reply.connection() != connection_) return actions;
  heard_ms_ = now_ms;
  const bool is_another = server_epoch_ != 0 && reply.server_epoch() != server_epoch_;
  if (is_another && !reply.goes_on()) {
    Fail(FailedPrecondition(StrCat(options_.peer_name,
                                   " was restarted and has lost its parameters; "
                                   "the run cannot go on: start it again")),
         actions);
    return actions;
  }
  const bool in_range =
      reply.last_sequence() >= submitted_ - kept_.size() && reply.last_sequence() <= submitted_;
  if (reply.server_epoch() == 0 || !in_range) {
    Fail(InvalidData(StrCat(options_.peer_name, " says it has push ", reply.last_sequence(),
                            " of ours; we have sent ", submitted_)),
         actions);
    return actions;
  }
  if (is_another) {
    ++server_restarts_;
    needs_all_ = true;
  }
  server_epoch_ = reply.server_epoch();
  state_ = State::kReady;
  was_loading_ = was_refused_ = false;
  next_answer_index_ = 0;
  for (const KeptPush& kept : kept_) {
    if (kept.push.sequence() <= reply.last_sequence()) continue;
    SendParts(kept.push.parts_name(), kept.parts, 0, actions);
    SendPush(kept, actions);
  }
  for (const auto& [name, parts] : begun_) SendParts(name, parts, 0, actions);
  return actions;
}

ClientActions ClientSession::OnAnswer(const v1::Answer& answer, int64_t now_ms) {
  ClientActions actions;
  if (state_ != State::kReady || answer.connection() != connection_) return actions;
  const int64_t waited_ms = now_ms - heard_ms_;
  heard_ms_ = now_ms;
  if (answer.index() != next_answer_index_) {  // an answer was lost with a broken connection
    Connect(now_ms, actions);
    return actions;
  }
  const bool goes_back = has_version_ && !needs_all_ && answer.version() < version_;
  if (answer.sequence() > submitted_ || goes_back) {
    Fail(InvalidData(StrCat(options_.peer_name, " answers push ", answer.sequence(), " at version ",
                            answer.version(), "; the last push is ", submitted_,
                            " and the last version ", version_)),
         actions);
    return actions;
  }
  ++next_answer_index_;
  LearnFrom(answer, waited_ms, now_ms);
  retry_ms_ = options_.first_retry_ms;
  version_ = answer.version();
  has_version_ = true;
  needs_all_ = false;
  actions.push_back({.kind = ClientAction::Kind::kApply});
  accepted_ = std::max(accepted_, answer.sequence());
  ForgetDurable(answer.durable_sequence());
  return actions;
}

// Each new connection brings an answer that catches up, also where pushes do not get through: one
// too large for the network, or that something on the way drops. So it shows no progress a second
// time, and does not shorten the patience that pushes need.
void ClientSession::LearnFrom(const v1::Answer& answer, int64_t waited_ms, int64_t now_ms) {
  const bool takes_one = answer.sequence() > accepted_ || accepted_ == submitted_;
  if (takes_one) {
    answer_patience_.Learn(waited_ms);
  } else {
    answer_patience_.LearnNoLess(waited_ms);
  }
  if (takes_one || !caught_up_) progress_ms_ = now_ms;
  if (takes_one) refusal_.clear();
  caught_up_ = !takes_one;
}

void ClientSession::OnDurableNotice(const v1::DurableNotice& notice, int64_t now_ms) {
  if (state_ != State::kReady || notice.connection() != connection_) return;
  heard_ms_ = now_ms;
  ForgetDurable(notice.durable_sequence());
}

void ClientSession::OnRoundNotice(const v1::RoundNotice& notice, int64_t now_ms) {
  if (state_ != State::kReady || notice.connection() != connection_) return;
  heard_ms_ = progress_ms_ = now_ms;
}

ClientActions ClientSession::OnRefusal(const v1::Refusal& refusal, int64_t now_ms) {
  ClientActions actions;
  if (state_ == State::kFailed) return actions;
  if (!refusal.retry()) {
    Fail(FailedPrecondition(StrCat(options_.peer_name, " refuses: ", refusal.reason())), actions);
    return actions;
  }
  refusal_ = refusal.reason();
  if (state_ == State::kReady) {
    Connect(now_ms, actions);
  } else {
    if (refusal.has_loading() && !was_loading_) retry_ms_ = options_.first_retry_ms;
    was_loading_ = refusal.has_loading();
    if (was_loading_ && loading_.HasProgressed(refusal.loading())) progress_ms_ = now_ms;
    retry_ms_ = std::min(retry_ms_, was_loading_ ? kLoadingRetryMs : kRefusedRetryMs);
    // It is there, and what it lacks comes soon, as a rule.
    if (!was_loading_ && !std::exchange(was_refused_, true)) retry_ms_ = kFirstRefusedRetryMs;
  }
  return actions;
}

ClientActions ClientSession::OnBroken(const OtherWaits& others, int64_t now_ms) {
  if (state_ == State::kConnecting) retry_ms_ = std::min(retry_ms_, kRefusedRetryMs);
  is_broken_ = state_ == State::kReady;
  return Tick(others, now_ms);
}

// One that is being made is tried again in time.
ClientActions ClientSession::OnDamage(int64_t now_ms) {
  ClientActions actions;
  if (state_ == State::kReady) Connect(now_ms, actions);
  return actions;
}

ClientActions ClientSession::Tick(const OtherWaits& others, int64_t now_ms) {
  ClientActions actions;
  if (state_ == State::kIdle || state_ == State::kFailed) return actions;
  if (!IsOwed()) progress_ms_ = heard_ms_ = now_ms;
  const int64_t since_ms = std::min(
      {progress_ms_, others.data_since_ms.value_or(now_ms), others.word_since_ms.value_or(now_ms)});
  const int64_t timeout_ms =
      has_version_ ? options_.answer_timeout_ms : options_.connect_timeout_ms;
  if (now_ms - since_ms > timeout_ms) {
    Fail(SilenceStatus(since_ms, now_ms), actions);
    return actions;
  }
  if (IsSilent(others, now_ms)) Connect(now_ms, actions);
  return actions;
}

bool ClientSession::IsSilent(const OtherWaits& others, int64_t now_ms) {
  if (state_ == State::kConnecting) return now_ms - heard_ms_ > retry_ms_;
  const bool is_owed = IsOwed() || others.data_since_ms || others.word_since_ms;
  if (is_broken_ && is_owed && now_ms - opened_ms_ >= kRefusedRetryMs) return true;
  const int64_t under_way_ms = kept_bytes_ / kSlowBytesPerMs;
  const auto is_over = [&](int64_t since_ms, Patience* patience) {
    const int64_t most_ms = std::max(patience->ms(), options_.most_silence_ms);
    if (now_ms - since_ms <= std::min(patience->ms() + under_way_ms, most_ms)) return false;
    patience->WasVain();
    return true;
  };
  const auto since = [&](const std::optional<int64_t>& since_ms) {
    return std::max(opened_ms_, since_ms.value_or(now_ms));
  };
  return is_over(heard_ms_, &answer_patience_) ||
         is_over(since(others.data_since_ms), &data_patience_) ||
         is_over(since(others.word_since_ms), &word_patience_);
}

void ClientSession::ForgetDurable(uint64_t sequence) {
  while (!kept_.empty() && kept_.front().push.sequence() <= std::min(sequence, accepted_)) {
    kept_bytes_ -= BodyBytes(kept_.front().body);
    for (const Body& part : kept_.front().parts) kept_bytes_ -= BodyBytes(part);
    kept_.pop_front();
  }
}

// A push that is not durable is owed a notice: the server may have ended since its answer.
bool ClientSession::IsOwed() const {
  return state_ == State::kConnecting || next_answer_index_ == 0 || !kept_.empty();
}

Status ClientSession::SilenceStatus(int64_t since_ms, int64_t now_ms) const {
  const std::string seconds = Format("%.1f s", static_cast<double>(now_ms - since_ms) * 1e-3);
  if (!has_version_ && server_epoch_ != 0) {
    return DeadlineExceeded(StrCat(
        options_.peer_name, " is there, but its parameters did not come for ", seconds,
        " (cluster.connect_timeout_ms); is the network too slow for them, or is it stopped?"));
  }
  if (!has_version_ && !refusal_.empty()) {
    return DeadlineExceeded(StrCat(options_.peer_name,
                                   was_loading_ ? " has loaded nothing more for " : " refused for ",
                                   seconds, " (cluster.connect_timeout_ms): ", refusal_));
  }
  if (!has_version_) {
    return DeadlineExceeded(StrCat(options_.peer_name, " did not answer for ", seconds,
                                   "; is weir-server running there, are host and port right "
                                   "and open, and do both ends have the same keys?"));
  }
  const std::string what = WhatIsOwed(accepted_, durable_sequence(), submitted_);
  return DeadlineExceeded(StrCat(options_.peer_name, " has not answered for ", seconds, " (", what,
                                 "); ",
                                 refusal_.empty() ? "it has stopped, or the network between us has"
                                                  : "the last that it refused: " + refusal_));
}

void ClientSession::Fail(Status status, ClientActions& actions) {
  state_ = State::kFailed;
  ClientAction action{.kind = ClientAction::Kind::kFail};
  action.status = std::move(status);
  actions.push_back(std::move(action));
}

}  // namespace weir::session
