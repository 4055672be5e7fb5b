#include "server/server.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "common/session/client_session.h"
#include "common/session/run_identity.h"

namespace weir::server {
namespace {

constexpr int64_t kTickMs = 100;

// A coordinator that is stopped stays so long, to tell the others.
constexpr int64_t kStopMs = 2000;

// Who comes next waits no longer, but for what is done of the strand at hand.
constexpr std::chrono::microseconds kLongestWork{500};

// That are there at once before the arena gets what they ask for: as many as a worker sends at a
// time, a push and the next batch's row pull.
constexpr int kMessagesTogether = 4;

using SteadyTime = std::chrono::steady_clock;

// Where nobody else would do the rest, the machine's time decides nothing.
auto MayWorkNow(const Executor& executor) {
  const bool is_bounded = executor.has_threads();
  const SteadyTime::time_point end = SteadyTime::now() + kLongestWork;
  return [=] { return !is_bounded || SteadyTime::now() < end; };
}

}  // namespace

Server::Server(const v1::Config& config, uint32_t server_count, uint32_t shard_index,
               std::unique_ptr<transport::ServerTransport> transport, ServerOptions options)
    : config_(config),
      layout_(config, server_count),
      shard_index_(shard_index),
      options_(std::move(options)),
      identity_(session::MakeRunIdentity(config, server_count, options_.warm_start)),
      life_(
          options_.data_folder, options_.environment, [this] { transport_->Wake(); },
          options_.snapshots),
      transport_(std::move(transport)),
      mail_(transport_.get()),
      clock_(options_.environment.clock),
      outbox_([this] { transport_->Wake(); }) {
  if (shard_index == 0) {
    coordinator_ = std::make_unique<Coordinator>(config_, identity_, server_count, life_.run(),
                                                 options_.addresses, options_.environment.executor);
    coordinator_->BeginAfter(options_.rule_starts);
    run_ = coordinator_->run();
  }
  MakeSaving(server_count);
  checkpoints_ =
      std::make_unique<ServerCheckpoints>(config_, options_, shard_index, server_count,
                                          coordinator_.get(), [this] { transport_->Wake(); });
  dispatcher_ =
      std::make_unique<Dispatcher>(nullptr, &mail_, identity_, &life_, shard_index, Listeners());
  if (coordinator_) {
    control_ = std::make_unique<ControlDesk>(coordinator_.get(), &mail_, &dispatcher_->log());
  }
  if (config_.consistency().has_sync()) {
    // Several before a worker doubts its connection.
    const int64_t silence_ms = session::SilenceMs(config_.cluster().answer_timeout_ms());
    dispatcher_->BeginRounds(std::min<int64_t>(1000, silence_ms / 3));
  }
}

// What was asked of strands is theirs until they are done.
Server::~Server() {
  if (shard_) shard_->WaitIdle();
  life_.EndSnapshots();
}

Status Server::Run() {
  try {
    while (true) {
      if (auto outcome = Step(kTickMs)) return *std::move(outcome);
    }
  } catch (const std::bad_alloc&) {
    return ResourceExhausted(
        "not enough memory for what workers send and are sent; use more servers");
  }
}

std::optional<Status> Server::Step(int64_t timeout_ms) {
  if (!next_tick_ms_) StartLoading();
  LookAtLoader(clock_.Look());
  LogRun();
  ReceiveOne(timeout_ms);
  if (next_tick_ms_ && clock_.Look() < *next_tick_ms_ && !stopping_) return std::nullopt;
  ReceiveQueued();
  const int64_t now_ms = clock_.Look();
  next_tick_ms_ = now_ms + kTickMs;
  if (!stopping_ && checkpoints_->LookAtWishes(now_ms)) stopping_ = true;
  if (coordinator_ && stopping_) coordinator_->Fail("server 0 was stopped");
  // Before that its time is not the one that it will have.
  const bool is_itself = is_loaded_ || life_.is_first() || stopping_ || !own_failure_.ok();
  if (coordinator_ && is_itself) coordinator_->Tick(now_ms);
  checkpoints_->Step(run_);
  if (control_) control_->Save(now_ms);
  LookAtSaving();
  LookAtLog(now_ms);
  if (control_) control_->SendHeld(now_ms);
  dispatcher_->OnDepartures(coordinator_ ? coordinator_->departures() : news_.departures.Get());
  dispatcher_->Tick(now_ms);
  mail_.Tick();
  bounded_.Tick();
  return Outcome(now_ms);
}

// Each Receive may end by the wake-up of a strand that has finished, and is told of it once. While
// messages come, strands get several at a time; when none waits, this thread has nothing better to
// do than what they ask for.
bool Server::ReceiveOne(int64_t timeout_ms) {
  auto incoming = transport_->Receive(shard_ && shard_->has_ready() ? 0 : timeout_ms);
  outbox_.Attend();
  const bool has_come = incoming.has_value();
  if (has_come) Receive(*std::move(incoming), clock_.Look());
  if (!has_come && control_) {  // not before what they sent last
    for (const transport::PeerId& peer : transport_->TakeGone()) {
      control_->Parted(dispatcher_->FindByPeer(peer), clock_.Look());
    }
  }
  if (shard_) WorkOrHandOver(has_come);
  checkpoints_->Step(run_);
  if (control_) control_->SendHeld(clock_.Look());
  life_.StepSnapshot();
  if (saving_) saving_->Step();
  dispatcher_->Flush(outbox_.TakeAll());
  return has_come;
}

void Server::WorkOrHandOver(bool has_come) {
  if (!has_come) {
    shard_->Work(MayWorkNow(options_.environment.executor));
  } else if (++received_together_ >= kMessagesTogether) {
    shard_->HandOver();
  }
  if (!shard_->has_ready()) received_together_ = 0;
}

std::optional<Status> Server::Outcome(int64_t now_ms) {
  if (stopping_) {
    if (!stop_by_ms_) stop_by_ms_ = now_ms + kStopMs;
    const bool is_done = !coordinator_ || coordinator_->over(now_ms) || now_ms > *stop_by_ms_;
    return is_done ? std::optional(Interrupted("stopped")) : std::nullopt;
  }
  if (coordinator_ && coordinator_->over(now_ms)) {
    if (!own_failure_.ok()) return own_failure_;
    if (!coordinator_->failed()) return OkStatus();
    return FailedPrecondition("the run has failed: " + coordinator_->failure());
  }
  // Where the coordinator has made the run fail it stays to tell the others.
  const bool tells = coordinator_ && coordinator_->failed();
  if (!own_failure_.ok() && !tells) return own_failure_;
  MutexLock lock(mutex_);
  return ended_;
}

void Server::End(Status status) {
  {
    MutexLock lock(mutex_);
    ended_ = std::move(status);
  }
  transport_->Wake();
}

}  // namespace weir::server
