#include "worker/link/server_link.h"

#include <algorithm>
#include <new>
#include <utility>

#include "common/base/check.h"
#include "common/base/strings.h"
#include "common/base/utf8.h"
#include "common/session/header_message.h"
#include "common/session/run_identity.h"

namespace weir::worker {
namespace {

// Between looks at what is owed for too long: at the start, and once all servers have let this
// worker in an eighth of the silence after which it doubts them.
constexpr int64_t kTickMs = 20;
// Of the link's own thread; its clock is to be looked at so often.
constexpr int64_t kLongestStepMs = AwakeClock::kLongestGapMs / 2;

}  // namespace

ServerLink::ServerLink(const v1::Config& config, const ModelLayout& layout, LinkOptions options,
                       std::unique_ptr<transport::ClientTransport> transport)
    : config_(config),
      options_(std::move(options)),
      identity_(session::MakeRunIdentity(
          config, static_cast<uint32_t>(options_.server_addresses.size()), options_.warm_start)),
      transport_(std::move(transport)),
      // The servers are not to blame for a pause of this process.
      clock_(options_.environment.clock),
      replica_(layout, options_.compute),
      peers_(options_.server_addresses.size()),
      window_(config.cluster().window()) {
  CHECK_EQ(layout.server_count(), peers_.size());
  for (size_t i = 0; i < peers_.size(); ++i) peers_[i].address = options_.server_addresses[i];
  taken_.versions.resize(peers_.size());
}

// The last words are those of who has joined. The thread is gone by then, so they are said here.
ServerLink::~ServerLink() {
  stopping_ = true;
  transport_->Wake();
  if (thread_.joinable()) thread_.join();
  if (phase_ != Phase::kJoining) DoOrFail([this] { SayLastWords(); });
}

std::string ServerLink::PeerName(size_t server) const {
  return StrCat("server ", server, " at ", options_.server_addresses[server]);
}

Status ServerLink::Connect() {
  thread_ = std::thread([this] {
    while (!stopping_ && Step(kLongestStepMs)) continue;
  });
  MutexLock lock(mutex_);
  while (!is_connected_ && failure_.ok()) changed_.Wait(lock);
  return failure_;
}

bool ServerLink::Step(int64_t timeout_ms) {
  if (has_ended_) return false;
  const bool had_memory =
      DoOrFail([&] { phase_ == Phase::kJoining ? Join(timeout_ms) : Converse(timeout_ms); });
  if (!had_memory) has_ended_ = true;
  return !has_ended_;
}

bool ServerLink::DoOrFail(FunctionRef<void()> work) {
  try {
    work();
    return true;
  } catch (const std::bad_alloc& error) {
    Fail(ShortOfMemory(error,
                       "no memory for what goes to the servers and comes from them; use a "
                       "smaller cluster.window or data.batch_size, or fewer --threads"));
    return false;
  }
}

void ServerLink::Converse(int64_t timeout_ms) {
  RunCommands();
  const int64_t pause_ms = std::min(next_tick_ms_, next_heartbeat_ms_) - clock_.NowMs();
  auto incoming = transport_->Receive(std::max<int64_t>(std::min(pause_ms, timeout_ms), 0));
  const int64_t now_ms = clock_.Look();
  incoming ? Receive(*std::move(incoming)) : LookAtBroken(now_ms);
  if (phase_ != Phase::kConnected) GoOnConnecting();
  if (now_ms < std::min(next_tick_ms_, next_heartbeat_ms_)) return;
  Tick();
  next_tick_ms_ = now_ms + PauseMs();
}

int64_t ServerLink::PauseMs() const {
  const bool all_ready =
      std::ranges::all_of(peers_, [](const Peer& peer) { return peer.session->ready(); });
  if (!all_ready) return kTickMs;
  return std::max(session::SilenceMs(config_.cluster().answer_timeout_ms()) / 8, kTickMs);
}

void ServerLink::Tick() {
  complaints_.WarnOfCounted();
  const int64_t now_ms = clock_.NowMs();
  for (size_t i = 0; i < peers_.size(); ++i) {
    Do(i, peers_[i].session->Tick(OldestOutstanding(i), now_ms));
  }
  if (now_ms >= next_heartbeat_ms_) SendHeartbeat(now_ms);
}

void ServerLink::SayLastWords() {
  if (phase_ != Phase::kConnected) GoOnConnecting();
  RunCommands();  // why this worker ends, if it says so
  if (!run_is_over_) SayFarewell();
}

void ServerLink::RunCommands() {
  std::vector<std::function<void(size_t)>> commands;
  {
    MutexLock lock(mutex_);
    commands.swap(commands_);
  }
  if (commands.empty()) return;
  for (size_t server = 0; server < peers_.size(); ++server) {
    for (auto& command : commands) command(server);
  }
  PublishTaken();  // of the bytes that are kept
}

void ServerLink::Stop(const Status& status, bool tell_others) {
  if (tell_others) TellFailure(status);
  Fail(status);
}

void ServerLink::TellFailure(const Status& status) {
  Post([this, status] {
    v1::Header header;
    header.mutable_leave()->set_failure(ToUtf8(status.message()));
    header.mutable_leave()->set_others_may_go_on(status.code() == StatusCode::kDeadlineExceeded);
    *header.mutable_leave()->mutable_speaker() = Speaker();
    Send(0, header, {});
  });
}

void ServerLink::Post(std::function<void()> command) {
  {
    MutexLock lock(mutex_);
    commands_.emplace_back([command = std::move(command)](size_t i) {
      if (i == 0) command();
    });
  }
  transport_->Wake();
}

bool ServerLink::is_connected() const {
  MutexLock lock(mutex_);
  return is_connected_;
}

Status ServerLink::failure() const {
  MutexLock lock(mutex_);
  return failure_;
}

void ServerLink::Fail(const Status& status) {
  MutexLock lock(mutex_);
  if (failure_.ok()) failure_ = status;
  changed_.NotifyAll();
}

void ServerLink::FillReport(v1::WorkerReport* report) const {
  meter_.FillReport(report);
  MutexLock lock(mutex_);
  *report->mutable_staleness() = staleness_.ToProto();
  report->set_reconnects(reconnects_);
  report->set_replayed_pushes(replayed_);
}

}  // namespace weir::worker
