#include "worker/pipeline/stage_links.h"

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

#include "common/base/check.h"
#include "common/base/strings.h"
#include "common/cluster/membership.h"
#include "common/cluster/pipeline_book.h"
#include "common/keys/key_folder.h"
#include "common/session/damage.h"
#include "common/session/header_message.h"
#include "common/session/speaker.h"

namespace weir::worker {
namespace {

constexpr int64_t kReceiveMs = 20;
// While a message waits because a queue is full.
constexpr int64_t kRetryMs = 1;

// The port of an address that was bound, in the one that is told to others.
std::string WithBoundPort(const std::string& advertised, const std::string& bound) {
  if (advertised.empty()) return bound;
  if (!advertised.ends_with(":0")) return advertised;
  return advertised.substr(0, advertised.size() - 1) + bound.substr(bound.rfind(':') + 1);
}

}  // namespace

StageLinks::StageLinks(StageLinkOptions options,
                       std::unique_ptr<transport::ServerTransport> upstream,
                       std::unique_ptr<transport::ClientTransport> downstream)
    : options_(std::move(options)),
      upstream_(std::move(upstream)),
      downstream_(std::move(downstream)),
      before_{.stage = options_.stage - 1},
      next_{.stage = options_.stage + 1} {
  CHECK_EQ(upstream_ == nullptr, options_.stage == 0);
  CHECK_EQ(downstream_ == nullptr, options_.stage + 1 == options_.stage_count);
}

StageLinks::~StageLinks() { Stop(); }

void StageLinks::Stop() {
  stopping_ = true;
  if (upstream_) upstream_->Wake();
  if (downstream_) downstream_->Wake();
  if (upstream_thread_.joinable()) upstream_thread_.join();
  if (downstream_thread_.joinable()) downstream_thread_.join();
}

Status StageLinks::Listen() {
  if (!upstream_) return OkStatus();
  WEIR_ASSIGN_OR_RETURN(const std::string bound, upstream_->Bind(options_.listen_address));
  address_ = WithBoundPort(options_.advertised_address, bound);
  return OkStatus();
}

void StageLinks::Begin(std::function<void(v1::Header, transport::Message)> on_message,
                       std::function<void(const Status&)> on_failure,
                       std::function<void(uint64_t)> on_damage) {
  on_message_ = std::move(on_message);
  on_failure_ = std::move(on_failure);
  on_damage_ = std::move(on_damage);
}

void StageLinks::Start(std::function<void(v1::Header, transport::Message)> on_message,
                       std::function<void(const Status&)> on_failure,
                       std::function<void(uint64_t)> on_damage) {
  Begin(std::move(on_message), std::move(on_failure), std::move(on_damage));
  if (upstream_) upstream_thread_ = std::thread([this] { Run(&StageLinks::StepUpstream); });
  if (downstream_) downstream_thread_ = std::thread([this] { Run(&StageLinks::StepDownstream); });
}

bool StageLinks::Step(int64_t timeout_ms) {
  const bool hears_before = !upstream_ || StepUpstream(timeout_ms);
  const bool hears_next = !downstream_ || StepDownstream(timeout_ms);
  return hears_before && hears_next;
}

void StageLinks::Run(bool (StageLinks::*step)(int64_t)) {
  try {
    while (!stopping_ && (this->*step)(kReceiveMs)) {
    }
  } catch (const std::bad_alloc&) {
    on_failure_(
        ResourceExhausted("no memory for what goes between stages; use a smaller "
                          "pipeline.in_flight or data.batch_size"));
  }
}

void StageLinks::SetView(const v1::PipelineView& view) {
  {
    MutexLock lock(mutex_);
    generation_ = view.generation();
    has_lost_ |= !away_.empty();
    away_.clear();
    const auto next = static_cast<int>(options_.stage) + 1;
    const std::string address =
        next < view.stages_size() ? view.stages(next).link_address() : std::string();
    // Anew even at the same address: who is there now has never heard of this connection.
    next_address_ = address;
    must_connect_ = downstream_ != nullptr;
  }
  if (downstream_) downstream_->Wake();
}

void StageLinks::Send(const v1::Header& header, const std::vector<transport::Part>& body) {
  transport::Message message = session::MakeMessage(header, body);
  const bool is_forward = header.has_stage_forward();
  const uint64_t generation =
      is_forward ? header.stage_forward().generation() : header.stage_backward().generation();
  {
    MutexLock lock(mutex_);
    if (is_forward && generation == generation_) away_.insert(header.stage_forward().batch());
    (is_forward ? forward_ : backward_)
        .push_back(
            {generation, header.stage_forward().name().split() == v1::TEST, std::move(message)});
  }
  if (is_forward) {
    downstream_->Wake();
  } else {
    upstream_->Wake();
  }
}

std::deque<StageLinks::Outgoing> StageLinks::TakeQueue(std::deque<Outgoing>* queue) {
  MutexLock lock(mutex_);
  std::erase_if(*queue, [&](const Outgoing& out) { return out.generation != generation_; });
  return std::exchange(*queue, {});
}

bool StageLinks::IsExpected(uint32_t trainer, uint32_t from_stage, uint64_t generation,
                            Neighbour* neighbour) const {
  const uint64_t present = generation_;
  const bool is_of_run =
      present == 0 || cluster::RunOfGeneration(generation) == cluster::RunOfGeneration(present);
  if (trainer == options_.trainer && from_stage == neighbour->stage && is_of_run) {
    return present != 0 && generation == present;
  }
  const std::string sender = cluster::Name({trainer, from_stage});
  neighbour->complaints.Warn(
      sender, StrCat("a message of ", sender, is_of_run ? "" : " of another run", " came to ",
                     cluster::Name({options_.trainer, options_.stage}),
                     " and is dropped: see that --link is another one for each stage"));
  return false;
}

bool StageLinks::StepUpstream(int64_t timeout_ms) {
  std::deque<Outgoing>& waiting = before_.waiting;
  std::ranges::move(TakeQueue(&backward_), std::back_inserter(waiting));
  while (!waiting.empty()) {
    const Outgoing& out = waiting.front();
    if (out.generation == generation_ && out.generation == peer_generation_) {
      const Status status = upstream_->Send(peer_, out.message);
      if (status.code() == StatusCode::kResourceExhausted) break;
      if (status.code() == StatusCode::kFailedPrecondition) return Fail(status);
      if (status.ok()) meter_.AddSent(out.message);
    }
    waiting.pop_front();
  }
  before_.complaints.WarnOfCounted();
  auto incoming = upstream_->Receive(waiting.empty() ? timeout_ms : std::min(timeout_ms, kRetryMs));
  if (incoming) TakeUpstream(*std::move(incoming));
  return true;
}

// Of one generation many batches may be: the first ends it.
void StageLinks::TakeDamage(const Status& damage, uint64_t generation, Neighbour* neighbour) {
  const std::string sender = cluster::Name({options_.trainer, neighbour->stage});
  const std::string what = StrCat("from ", sender, " ", damage.message());
  neighbour->complaints.Warn(sender, what);
  if (generation == neighbour->damaged_generation) return;
  neighbour->damaged_generation = generation;
  if (++neighbour->damaged_generations < session::DamageBook::kMostTimes) {
    return on_damage_(generation);
  }
  on_failure_(InvalidData(StrCat(what, "; so has something ", neighbour->damaged_generations,
                                 " times, and nothing came whole")));
}

void StageLinks::TakeUpstream(transport::IncomingMessage incoming) {
  auto header = session::ParseHeader(incoming.message);
  if (!header.ok() && incoming.peer == peer_) {
    return TakeDamage(header.status(), peer_generation_, &before_);
  }
  if (!header.ok() || !header->has_stage_forward()) {
    before_.complaints.Warn(incoming.peer,
                            StrCat("something came to the link of stage ", options_.stage,
                                   " that is no batch, and is dropped"));
    return;
  }
  if (const Status may = session::CheckSpeaker(incoming.name, *header); !may.ok()) {
    return before_.complaints.Warn(incoming.peer, may.message());
  }
  const v1::StageForward& forward = header->stage_forward();
  if (!IsExpected(forward.trainer(), forward.from_stage(), forward.generation(), &before_)) {
    return;
  }
  peer_ = incoming.peer;
  peer_generation_ = forward.generation();
  const Status whole = session::CheckFrames(*header, incoming.message);
  if (!whole.ok()) return TakeDamage(whole, peer_generation_, &before_);
  before_.damaged_generations = 0;
  on_message_(*std::move(header), std::move(incoming.message));
}

void StageLinks::Connect() {
  std::string address;
  {
    MutexLock lock(mutex_);
    if (!must_connect_) return;
    must_connect_ = false;
    address = next_address_;
  }
  if (connection_ != 0) downstream_->Close(connection_);
  connection_ = 0;
  if (address.empty()) return;
  auto opened = downstream_->Open(address, keys::WorkerName(options_.trainer, options_.stage + 1));
  if (!opened.ok()) return on_failure_(opened.status());
  connection_ = *opened;
}

bool StageLinks::StepDownstream(int64_t timeout_ms) {
  std::deque<Outgoing>& waiting = next_.waiting;
  // Before it connects: what is taken afterwards may be of a generation whose connection is not
  // open yet, and would leave over the old one.
  std::ranges::move(TakeQueue(&forward_), std::back_inserter(waiting));
  Connect();
  while (!waiting.empty()) {
    const Outgoing& out = waiting.front();
    if (out.generation == generation_) {
      const Status status = downstream_->Send(connection_, out.message);
      if (status.code() == StatusCode::kResourceExhausted) break;
      if (status.code() == StatusCode::kFailedPrecondition) return Fail(status);
      if (status.ok()) Count(out);
    }
    waiting.pop_front();
  }
  next_.complaints.WarnOfCounted();
  auto incoming =
      downstream_->Receive(waiting.empty() ? timeout_ms : std::min(timeout_ms, kRetryMs));
  if (incoming && incoming->connection == connection_) TakeDownstream(std::move(incoming->message));
  return true;
}

bool StageLinks::Fail(const Status& status) {
  on_failure_(status);
  return false;
}

void StageLinks::Count(const Outgoing& out) {
  if (out.is_test) {
    meter_.AddSentForEvaluation(out.message);
  } else {
    meter_.AddSent(out.message);
  }
}

void StageLinks::TakeDownstream(transport::Message message) {
  auto header = session::ParseHeader(message);
  if (header.status().code() == StatusCode::kInvalidData) {
    return TakeDamage(header.status(), generation_, &next_);
  }
  if (!header.ok() || !header->has_stage_backward()) {
    return on_failure_(InvalidData(StrCat(NextName(), " answers with something that is no batch")));
  }
  const v1::StageBackward& backward = header->stage_backward();
  if (!IsExpected(backward.trainer(), backward.from_stage(), backward.generation(), &next_)) {
    return;
  }
  const Status whole = session::CheckFrames(*header, message);
  if (!whole.ok()) return TakeDamage(whole, backward.generation(), &next_);
  next_.damaged_generations = 0;
  {
    MutexLock lock(mutex_);
    const bool was_away = backward.generation() == generation_ && away_.erase(backward.batch()) > 0;
    if (was_away) has_lost_ = false;
  }
  on_message_(*std::move(header), std::move(message));
}

bool StageLinks::awaits_next() const {
  MutexLock lock(mutex_);
  return has_lost_ || !away_.empty();
}

std::string StageLinks::NextName() const {
  MutexLock lock(mutex_);
  return StrCat(cluster::Name({options_.trainer, options_.stage + 1}),
                next_address_.empty() ? "" : " at ", next_address_);
}

v1::KindBytes StageLinks::sent() const {
  v1::WorkerReport own;
  meter_.FillReport(&own);
  return own.sent();
}

}  // namespace weir::worker
