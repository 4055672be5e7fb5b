#include "worker/link/server_link.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <thread>
#include <utility>

#include "common/base/check.h"
#include "common/base/strings.h"
#include "common/base/utf8.h"
#include "common/session/header_message.h"
#include "common/session/run_identity.h"
#include "common/transport/tcp_address.h"
#include "worker/link/joining.h"

namespace weir::worker {
namespace {

// Between looks at what is owed for too long: at the start, and once all servers have let this
// worker in an eighth of the silence after which it doubts them.
constexpr int64_t kTickMs = 20;
constexpr int64_t kHeartbeatMs = 1000;
// While the stages of a trainer do not agree yet that batches may start.
constexpr int64_t kGatheringHeartbeatMs = 50;

// "trainer 1, trainer 3".
std::string NamesOf(const google::protobuf::RepeatedField<uint32_t>& trainers) {
  std::vector<std::string> names;
  for (const uint32_t trainer : trainers) names.push_back(StrCat("trainer ", trainer));
  return StrJoin(names, ", ");
}

// A host that is not known is asked for until the time is over, because it may come to be.
Status WithHostProblem(const Status& failure, const std::string& address) {
  const auto parsed = transport::ParseTcpAddress(address);
  if (failure.code() != StatusCode::kDeadlineExceeded || !parsed.ok()) return failure;
  const auto host = transport::ResolveHost(parsed->host);
  if (host.ok()) return failure;
  return DeadlineExceeded(StrCat(failure.message(), "; ", host.status().message()));
}

// Without the run's identity, and who is asked.
JoinOptions JoinOptionsOf(const LinkOptions& options, const v1::ClusterConfig& cluster) {
  return {.trainer = options.trainer,
          .stage = options.stage,
          .stage_count = options.stage_count,
          .link_address = options.link_address,
          .saves = options.saves,
          .stays = options.stays,
          .awaits_model = options.awaits_model,
          .file_bytes = options.file_bytes,
          .train_files = options.train_files,
          .timeout_ms = cluster.connect_timeout_ms(),
          .member_timeout_ms = cluster.member_timeout_ms() + 1,
          .environment = options.environment};
}

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

ServerLink::~ServerLink() {
  stopping_ = true;
  transport_->Wake();
  if (thread_.joinable()) thread_.join();
}

std::string ServerLink::PeerName(size_t server) const {
  return StrCat("server ", server, " at ", options_.server_addresses[server]);
}

// --- Joining -----------------------------------------------------------------------------------

Status ServerLink::Connect() {
  WEIR_ASSIGN_OR_RETURN(peers_[0].connection, transport_->Open(peers_[0].address));
  JoinOptions join = JoinOptionsOf(options_, config_.cluster());
  join.coordinator_name = PeerName(0);
  join.identity = identity_;
  const Result<v1::JoinReply> joined =
      JoinRun(join, peers_[0].connection, transport_.get(), &meter_, [this] { return failure(); });
  if (!joined.ok()) return WithHostProblem(joined.status(), peers_[0].address);
  OpenSessions(*joined);
  thread_ = std::thread([this] { Run(); });
  Status status = AwaitReplica();
  if (status.ok() && joined->wants_learned()) status = TellLearned();
  if (!status.ok()) Stop(status, true);  // who has joined is waited for, unless he says so
  return status;
}

// Before training, so that who saves the model knows when it is over.
Status ServerLink::TellLearned() {
  constexpr size_t kOtherBytes = size_t{1} << 16;  // more than the rest of the message
  const auto most = std::min(static_cast<size_t>(config_.cluster().max_message_bytes()),
                             session::kMaxHeaderBytes);
  if (options_.learned.ByteSizeLong() + kOtherBytes > most) {
    return ResourceExhausted(
        StrCat("what the columns have learned takes ", options_.learned.ByteSizeLong(),
               " bytes, and servers that save the model hear of ", most - kOtherBytes,
               " at most: give --save to a worker instead, or raise minimum_frequency"));
  }
  v1::WorkRequest request;
  *request.mutable_learned() = options_.learned;
  request.set_wants_nothing(true);
  return RequestWork(std::move(request), {}).status();
}

void ServerLink::OpenSessions(const v1::JoinReply& joined) {
  incarnation_ = joined.incarnation();
  run_ = joined.run();
  const v1::ClusterConfig& cluster = config_.cluster();
  for (size_t i = 0; i < peers_.size(); ++i) {
    session::ClientSessionOptions session;
    session.peer_name = PeerName(i);
    session.identity = identity_;
    session.trainer = options_.trainer;
    session.stage = options_.stage;
    session.stage_count = options_.stage_count;
    session.incarnation = incarnation_;
    session.membership_epoch = joined.membership_epoch();
    session.run = run_;
    session.connect_timeout_ms = cluster.connect_timeout_ms();
    session.answer_timeout_ms = cluster.answer_timeout_ms();
    session.silence_ms = session::SilenceMs(cluster.answer_timeout_ms());
    // A hello on a new connection is to come before this worker is given up.
    session.most_silence_ms =
        std::min(cluster.answer_timeout_ms() / 2, cluster.member_timeout_ms() * 2 / 3);
    peers_[i].session.emplace(std::move(session));
  }
}

Status ServerLink::AwaitReplica() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !failure_.ok() || servers_ready_ == peers_.size(); });
  return failure_;
}

// --- For compute threads -----------------------------------------------------------------------

bool ServerLink::HasCreditLocked() const {
  const v1::ClusterConfig& cluster = config_.cluster();
  // One push may always be under way, however large it is.
  return credits_taken_ == 0 ||
         (credits_taken_ < window_ && kept_bytes_ < cluster.max_unacknowledged_bytes());
}

void ServerLink::SetWindow(int window) {
  std::lock_guard lock(mutex_);
  window_ = window;
  changed_.notify_all();
}

bool ServerLink::TryAcquireCredit() {
  std::lock_guard lock(mutex_);
  if (!failure_.ok() || !HasCreditLocked()) return false;
  ++credits_taken_;
  return true;
}

Status ServerLink::AcquireCredit() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !failure_.ok() || HasCreditLocked(); });
  if (!failure_.ok()) return failure_;
  ++credits_taken_;
  return OkStatus();
}

ReadMark ServerLink::MarkRead() const {
  std::lock_guard lock(mutex_);
  return taken_;
}

uint64_t ServerLink::SubmitPush(v1::Push push, std::vector<Body> bodies, const ReadMark& read,
                                RowRequest* next_rows, std::shared_ptr<const AgreedPieces> agreed) {
  CHECK_EQ(bodies.size(), peers_.size());
  uint64_t sequence = 0;
  {
    // One lock for number and queue, so that pushes reach the sessions in the order of their
    // numbers.
    std::lock_guard lock(mutex_);
    sequence = ++submitted_;
    commands_.emplace_back([this, push = std::move(push), bodies = std::move(bodies),
                            versions = read.versions,
                            agreed = std::move(agreed)](size_t i) mutable {
      replica_.SetAgreed(agreed);
      push.set_read_version(versions[i]);
      Do(i, peers_[i].session->Submit(push, std::move(bodies[i]), clock_.NowMs()));
    });
    if (next_rows != nullptr) SubmitRowPullLocked(next_rows);
  }
  transport_->Wake();
  return sequence;
}

uint64_t ServerLink::NewPartsName() {
  std::lock_guard lock(mutex_);
  return ++parts_name_;
}

void ServerLink::SubmitPart(uint64_t name, std::vector<Body> bodies) {
  CHECK_EQ(bodies.size(), peers_.size());
  {
    std::lock_guard lock(mutex_);
    commands_.emplace_back([this, name, bodies = std::move(bodies)](size_t i) mutable {
      if (bodies[i].empty()) return;
      Do(i, peers_[i].session->SubmitPart(name, std::move(bodies[i]), clock_.NowMs()));
    });
  }
  transport_->Wake();
}

Status ServerLink::AwaitAccepted(uint64_t sequence) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !failure_.ok() || taken_.accepted_sequence >= sequence; });
  return failure_;
}

void ServerLink::SubmitRowPull(RowRequest* request) {
  {
    std::lock_guard lock(mutex_);
    SubmitRowPullLocked(request);
  }
  transport_->Wake();
}

void ServerLink::SubmitRowPullLocked(RowRequest* request) {
  CHECK_EQ(request->bodies.size(), peers_.size());
  const uint64_t id =
      outstanding_.AddPull(std::move(request->bodies), request->read_only, clock_.NowMs());
  commands_.emplace_back(
      [this, id](size_t i) { SendRequest(i, [&] { return outstanding_.PullFor(i, id); }); });
  request->id = id;
}

Result<std::vector<Body>> ServerLink::AwaitRowReplies(uint64_t request_id) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !failure_.ok() || outstanding_.PullIsDone(request_id); });
  if (!failure_.ok()) return failure_;
  return outstanding_.TakePull(request_id);
}

Result<ServerLink::Agreed> ServerLink::Propose(v1::Proposal proposal, std::vector<Body> bodies) {
  std::unique_lock lock(mutex_);
  const uint64_t id =
      outstanding_.AddProposal(std::move(bodies), std::move(proposal), clock_.NowMs());
  commands_.emplace_back(
      [this, id](size_t i) { SendRequest(i, [&] { return outstanding_.PullFor(i, id); }); });
  transport_->Wake();
  changed_.wait(lock, [&] { return !failure_.ok() || outstanding_.PullIsDone(id); });
  if (!failure_.ok()) return failure_;
  Agreed agreed;
  agreed.replies = outstanding_.TakePull(id, &agreed.words);
  return agreed;
}

uint64_t ServerLink::SubmitProbe(std::vector<Body> bodies) {
  CHECK_EQ(bodies.size(), peers_.size());
  uint64_t id = 0;
  {
    std::lock_guard lock(mutex_);
    id = outstanding_.AddProbe(std::move(bodies), clock_.NowMs());
    commands_.emplace_back(
        [this, id](size_t i) { SendRequest(i, [&] { return outstanding_.PullFor(i, id); }); });
  }
  transport_->Wake();
  return id;
}

Result<double> ServerLink::AwaitProbe(uint64_t id) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !failure_.ok() || outstanding_.PullIsDone(id); });
  if (!failure_.ok()) return failure_;
  return outstanding_.TakeProbe(id);
}

void ServerLink::ForgetRowPull(uint64_t request_id) {
  std::lock_guard lock(mutex_);
  outstanding_.DropPull(request_id);
}

bool ServerLink::has_unaccepted() const {
  std::lock_guard lock(mutex_);
  return submitted_ > taken_.accepted_sequence;
}

Result<Outstanding::Section> ServerLink::PullSection(size_t server, const v1::ModelPlace& place) {
  std::unique_lock lock(mutex_);
  if (!failure_.ok()) return failure_;
  outstanding_.SetSection(server, place, clock_.NowMs());
  commands_.emplace_back([this, server](size_t i) {
    if (i == server) SendRequest(i, [&] { return outstanding_.SectionFor(i); });
  });
  transport_->Wake();
  changed_.wait(lock, [&] { return !failure_.ok() || outstanding_.SectionIsDone(); });
  if (!failure_.ok()) return failure_;
  return outstanding_.TakeSection();
}

Result<v1::WorkReply> ServerLink::RequestWork(v1::WorkRequest request, Body scores) {
  v1::Header header;
  *request.mutable_speaker() = Speaker();
  *header.mutable_work_request() = std::move(request);
  WEIR_ASSIGN_OR_RETURN(v1::Header reply, Exchange(std::move(header), std::move(scores)));
  return std::move(*reply.mutable_work_reply());
}

Result<v1::ReportReply> ServerLink::SendReport(v1::Report report) {
  v1::Header header;
  *report.mutable_speaker() = Speaker();
  *header.mutable_report() = std::move(report);
  WEIR_ASSIGN_OR_RETURN(v1::Header reply, Exchange(std::move(header), {}));
  return std::move(*reply.mutable_report_reply());
}

Result<v1::Header> ServerLink::Exchange(v1::Header request, Body scores) {
  std::unique_lock lock(mutex_);
  if (!failure_.ok()) return failure_;
  outstanding_.SetExchange(std::move(request), std::move(scores), clock_.NowMs());
  commands_.emplace_back([this](size_t i) {
    if (i == 0) SendRequest(0, [&] { return outstanding_.ExchangeFor(0); });
  });
  transport_->Wake();
  changed_.wait(lock, [&] { return !failure_.ok() || outstanding_.ExchangeIsDone(); });
  // What the coordinator said counts even if the link has failed since.
  if (auto reply = outstanding_.TakeExchange()) return *std::move(reply);
  return failure_;
}

void ServerLink::Stop(const Status& status, bool tell_others) {
  if (tell_others) {
    Post([this, status] {
      v1::Header header;
      header.mutable_leave()->set_failure(ToUtf8(status.message()));
      header.mutable_leave()->set_others_may_go_on(status.code() == StatusCode::kDeadlineExceeded);
      *header.mutable_leave()->mutable_speaker() = Speaker();
      Send(0, header, {});
    });
  }
  Fail(status);
}

void ServerLink::FillReport(v1::WorkerReport* report) const {
  meter_.FillReport(report);
  std::lock_guard lock(mutex_);
  *report->mutable_staleness() = staleness_.ToProto();
  report->set_reconnects(reconnects_);
  report->set_replayed_pushes(replayed_);
}

void ServerLink::Post(std::function<void()> command) {
  {
    std::lock_guard lock(mutex_);
    commands_.emplace_back([command = std::move(command)](size_t i) {
      if (i == 0) command();
    });
  }
  transport_->Wake();
}

Status ServerLink::failure() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

void ServerLink::Fail(const Status& status) {
  std::lock_guard lock(mutex_);
  if (failure_.ok()) failure_ = status;
  changed_.notify_all();
}

// --- The I/O thread ----------------------------------------------------------------------------

void ServerLink::Run() {
  if (!DoOrFail(&ServerLink::Converse)) {
    while (!stopping_) std::this_thread::sleep_for(std::chrono::milliseconds(kTickMs));
  }
  DoOrFail(&ServerLink::SayLastWords);
}

bool ServerLink::DoOrFail(void (ServerLink::*work)()) {
  try {
    (this->*work)();
    return true;
  } catch (const std::bad_alloc& error) {
    Fail(ShortOfMemory(error,
                       "no memory for what goes to the servers and comes from them; use a "
                       "smaller cluster.window or data.batch_size, or fewer --threads"));
    return false;
  }
}

void ServerLink::Converse() {
  clock_.Look();
  for (size_t i = 0; i < peers_.size(); ++i) Do(i, peers_[i].session->Start(clock_.NowMs()));
  int64_t next_tick_ms = 0;
  while (!stopping_) {
    RunCommands();
    const int64_t pause_ms = std::min(next_tick_ms, next_heartbeat_ms_) - clock_.NowMs();
    auto incoming = transport_->Receive(std::max<int64_t>(pause_ms, 0));
    const int64_t now_ms = clock_.Look();
    if (incoming) Receive(*std::move(incoming));
    if (now_ms < std::min(next_tick_ms, next_heartbeat_ms_)) continue;
    Tick();
    next_tick_ms = now_ms + PauseMs();
  }
}

int64_t ServerLink::PauseMs() const {
  const bool all_ready =
      std::ranges::all_of(peers_, [](const Peer& peer) { return peer.session->ready(); });
  if (!all_ready) return kTickMs;
  return std::max(session::SilenceMs(config_.cluster().answer_timeout_ms()) / 8, kTickMs);
}

void ServerLink::SayLastWords() {
  RunCommands();  // why this worker ends, if it says so
  if (!run_is_over_) SayFarewell();
}

void ServerLink::RunCommands() {
  std::vector<std::function<void(size_t)>> commands;
  {
    std::lock_guard lock(mutex_);
    commands.swap(commands_);
  }
  if (commands.empty()) return;
  for (size_t server = 0; server < peers_.size(); ++server) {
    for (auto& command : commands) command(server);
  }
  PublishTaken();  // of the bytes that are kept
}

void ServerLink::Receive(transport::ConnectionMessage incoming) {
  meter_.AddReceived(incoming.message);
  const auto peer = std::find_if(peers_.begin(), peers_.end(), [&](const Peer& p) {
    return p.connection == incoming.connection;
  });
  if (peer == peers_.end()) return;  // a connection that was given up
  const auto server = static_cast<size_t>(peer - peers_.begin());
  const auto header = session::ParseHeader(incoming.message);
  if (!header) {
    return Fail(InvalidData(StrCat(PeerName(server), " sent a header that does not parse")));
  }
  Handle(server, *header, incoming.message);
}

void ServerLink::Handle(size_t server, const v1::Header& header,
                        const transport::Message& message) {
  session::ClientSession& session = *peers_[server].session;
  switch (header.body_case()) {
    case v1::Header::kHelloReply:
      if (header.hello_reply().shard() != server) {
        return Fail(FailedPrecondition(StrCat(PeerName(server), " serves shard ",
                                              header.hello_reply().shard(),
                                              "; give all processes the same --servers list")));
      }
      TakeHelloReply(server, header.hello_reply());
      PublishTaken();
      break;
    case v1::Header::kDurableNotice:
      peers_[server].session->OnDurableNotice(header.durable_notice());
      return PublishTaken();
    case v1::Header::kRoundNotice:
      return TakeRoundNotice(server, header.round_notice());
    case v1::Header::kAnswer:
      Do(server, session.OnAnswer(header.answer(), clock_.NowMs()), &message);
      PublishTaken();
      if (!header.answer().is_catch_up()) {
        std::lock_guard lock(mutex_);
        staleness_.Add(header.answer().staleness());
      }
      break;
    case v1::Header::kRefusal:
      if (header.refusal().has_loading()) {
        loading_notice_.Tell(PeerName(server) + ": " + header.refusal().reason(), clock_.NowMs());
      }
      Do(server, session.OnRefusal(header.refusal(), clock_.NowMs()));
      PublishTaken();
      break;
    case v1::Header::kRowReply:
      TakeRowReply(server, header.row_reply().request_id(), message);
      break;
    case v1::Header::kAgreement:
      TakeAgreement(server, header.agreement(), message);
      break;
    case v1::Header::kProbeReply:
      TakeProbeReply(server, header.probe_reply().request_id());
      break;
    case v1::Header::kModelReply:
      TakeModelReply(server, header.model_reply(), message);
      break;
    case v1::Header::kHeartbeatReply:
      TakeHeartbeatReply(header.heartbeat_reply());
      break;
    case v1::Header::kWorkReply:
      TakeWorkReply(header);
      break;
    case v1::Header::kReportReply:
      TakeReportReply(header);
      break;
    default:
      break;  // a late reply to a join
  }
}

void ServerLink::Do(size_t server, const session::ClientActions& actions,
                    const transport::Message* answer) {
  using Kind = session::ClientAction::Kind;
  Peer& peer = peers_[server];
  for (const session::ClientAction& action : actions) {
    switch (action.kind) {
      case Kind::kConnect: {
        if (peer.connection != 0) transport_->Close(peer.connection);
        auto opened = transport_->Open(peer.address);
        if (!opened.ok()) return Fail(opened.status());
        peer.connection = *opened;
        break;
      }
      case Kind::kSend:
        Send(server, action.header, action.body);
        break;
      case Kind::kApply:
        ApplyAnswer(server, answer);
        break;
      case Kind::kFail:
        Fail(Explained(action.status));
        break;
    }
  }
}

// Others do not wait for who stands still for long.
Status ServerLink::Explained(const Status& failure) const {
  const int64_t still_ms = clock_.still_ms();
  if (still_ms < config_.cluster().member_timeout_ms()) return failure;
  return {failure.code(), StrCat(failure.message(), "; this process stood still for ",
                                 Format("%.0f s", static_cast<double>(still_ms) * 1e-3),
                                 ", and the run may have ended meanwhile")};
}

void ServerLink::ApplyAnswer(size_t server, const transport::Message* answer) {
  CHECK(answer != nullptr) << "kApply follows OnAnswer only";
  if (Status status = replica_.Apply(server, *answer); !status.ok()) {
    Fail(status.code() == StatusCode::kInvalidData
             ? InvalidData(StrCat(PeerName(server), " sent a damaged answer: ", status.message()))
             : status);
  }
}

void ServerLink::PublishTaken() {
  std::lock_guard lock(mutex_);
  const size_t servers_before = std::exchange(servers_ready_, 0);
  const int64_t kept_before = std::exchange(kept_bytes_, 0);
  uint64_t accepted = UINT64_MAX;
  reconnects_ = replayed_ = 0;
  for (size_t i = 0; i < peers_.size(); ++i) {
    const session::ClientSession& session = *peers_[i].session;
    accepted = std::min(accepted, session.accepted_sequence());
    taken_.versions[i] = session.version();
    servers_ready_ += session.has_version() ? 1 : 0;
    reconnects_ += session.reconnects();
    replayed_ += session.replayed_pushes();
    kept_bytes_ += session.kept_bytes();
  }
  const uint64_t accepted_before = std::exchange(taken_.accepted_sequence, accepted);
  credits_taken_ -= static_cast<int64_t>(accepted - accepted_before);
  const bool may_let_go =
      accepted > accepted_before || kept_bytes_ < kept_before || servers_ready_ != servers_before;
  if (may_let_go) changed_.notify_all();
}

void ServerLink::TakeRowReply(size_t server, uint64_t request_id,
                              const transport::Message& message) {
  std::lock_guard lock(mutex_);
  const auto since_ms = outstanding_.OnRowReply(server, request_id, session::BodyOf(message));
  if (since_ms && outstanding_.PullIsDone(request_id)) changed_.notify_all();
  if (since_ms) peers_[server].session->OnDataReply(clock_.NowMs() - *since_ms);
}

void ServerLink::TakeAgreement(size_t server, const v1::Agreement& agreement,
                               const transport::Message& message) {
  std::lock_guard lock(mutex_);
  const auto since_ms = outstanding_.OnAgreement(server, agreement, session::BodyOf(message));
  changed_.notify_all();
  if (since_ms) peers_[server].session->OnDataReply(clock_.NowMs() - *since_ms);
}

void ServerLink::TakeProbeReply(size_t server, uint64_t request_id) {
  const double now_seconds = MonotonicSeconds();
  std::lock_guard lock(mutex_);
  const auto since_ms = outstanding_.OnProbeReply(server, request_id, now_seconds);
  if (since_ms && outstanding_.PullIsDone(request_id)) changed_.notify_all();
  if (since_ms) peers_[server].session->OnDataReply(clock_.NowMs() - *since_ms);
}

void ServerLink::TakeModelReply(size_t server, const v1::ModelReply& reply,
                                const transport::Message& message) {
  std::lock_guard lock(mutex_);
  const auto since_ms = outstanding_.OnModelReply(server, reply, session::BodyOf(message));
  changed_.notify_all();
  if (since_ms) peers_[server].session->OnDataReply(clock_.NowMs() - *since_ms);
}

void ServerLink::TakeHeartbeatReply(const v1::HeartbeatReply& reply) {
  if (!reply.failed().empty()) return TakeFailureOfRun(reply.failed());
  if (reply.has_pipeline()) TakePipeline(reply.pipeline());
  std::lock_guard lock(mutex_);
  TakeWord(outstanding_.OnHeartbeatReply());
}

void ServerLink::TakeWorkReply(const v1::Header& header) {
  const v1::WorkReply& reply = header.work_reply();
  if (reply.has_failed()) return TakeFailureOfRun(reply.failed());
  if (reply.has_pipeline()) TakePipeline(reply.pipeline());
  TakeExchangeReply(reply.request_id(), header);
}

void ServerLink::TakeReportReply(const v1::Header& header) {
  const v1::ReportReply& reply = header.report_reply();
  if (!reply.failed().empty()) return TakeFailureOfRun(reply.failed());
  if (reply.has_run() && !options_.saves && !options_.stays) SayFarewell();
  TakeExchangeReply(reply.request_id(), header);
}

void ServerLink::TakeExchangeReply(uint64_t id, const v1::Header& reply) {
  std::lock_guard lock(mutex_);
  TakeWord(outstanding_.OnExchangeReply(id, reply));
  changed_.notify_all();
}

// Rounds wait for whoever is slow, as they should; a long wait is told of once.
void ServerLink::TakeRoundNotice(size_t server, const v1::RoundNotice& notice) {
  constexpr int64_t kLongMs = 10'000;
  const int64_t now_ms = clock_.NowMs();
  peers_[server].session->OnRoundNotice(notice, now_ms);
  peers_[server].noticed_ms = now_ms;
  if (notice.round() != waiting_round_) {
    waiting_round_ = notice.round();
    round_waits_since_ms_ = now_ms;
  }
  if (!round_waits_since_ms_ || now_ms - *round_waits_since_ms_ < kLongMs) return;
  round_waits_since_ms_.reset();
  LOG(INFO) << "round " << notice.round() << " has waited for " << kLongMs / 1000 << " s, at "
            << PeerName(server) << ", for " << NamesOf(notice.awaited());
}

void ServerLink::TakeFailureOfRun(const std::string& reason) {
  SayFarewell();
  Fail(FailedPrecondition(StrCat("the run has failed: ", reason)));
}

void ServerLink::TakePipeline(const v1::PipelineView& view) {
  if (!options_.on_pipeline) return;
  pipeline_is_ready_ = view.ready();
  options_.on_pipeline(view);
}

void ServerLink::TakeWord(const std::optional<int64_t>& since_ms) {
  if (since_ms) peers_[0].session->OnWordReply(clock_.NowMs() - *since_ms);
}

// The heartbeat that was lost with the connection leaves before the pushes that are repeated, which
// may take long.
void ServerLink::TakeHelloReply(size_t server, const v1::HelloReply& reply) {
  session::ClientSession& session = *peers_[server].session;
  const int64_t now_ms = clock_.NowMs();
  const session::ClientActions actions = session.OnHelloReply(reply, now_ms);
  if (session.ready()) transport_->Welcome(peers_[server].connection);
  if (session.ready() && server == 0) SendHeartbeat(now_ms);
  Do(server, actions);
  if (session.ready()) RepeatOutstanding(server);
}

// The coordinator waits for it before it goes, so that nobody is left asking.
void ServerLink::SayFarewell() {
  run_is_over_ = true;
  {
    std::lock_guard lock(mutex_);
    outstanding_.ForgetHeartbeats();
  }
  v1::Header header;
  *header.mutable_leave()->mutable_speaker() = Speaker();
  Send(0, header, {});
}

void ServerLink::Tick() {
  const int64_t now_ms = clock_.NowMs();
  for (size_t i = 0; i < peers_.size(); ++i) {
    Do(i, peers_[i].session->Tick(OldestOutstanding(i), now_ms));
  }
  if (now_ms >= next_heartbeat_ms_) SendHeartbeat(now_ms);
}

// A worker that waits for something to do has said so: the reply is a word of the coordinator, and
// comes as soon as the run has failed. One that is late may be lost. Stages have to say what they
// have adopted.
void ServerLink::SendHeartbeat(int64_t now_ms) {
  next_heartbeat_ms_ = now_ms + (pipeline_is_ready_ ? kHeartbeatMs : kGatheringHeartbeatMs);
  if (run_is_over_ || !peers_[0].session->ready()) return;
  {
    std::lock_guard lock(mutex_);
    const int64_t held_ms = session::SilenceMs(config_.cluster().answer_timeout_ms()) / 2;
    const bool waits =
        outstanding_.exchange_since_ms().value_or(now_ms - held_ms) > now_ms - held_ms;
    if (waits && options_.stage_count == 1) return;
    outstanding_.AddHeartbeat(now_ms);
  }
  v1::Header header;
  v1::Heartbeat& heartbeat = *header.mutable_heartbeat();
  heartbeat.set_adopted_generation(adopted_generation_);
  heartbeat.set_awaited_next(awaited_next_);
  heartbeat.set_lost_generation(lost_generation_);
  *heartbeat.mutable_speaker() = Speaker();
  Send(0, header, {});
}

// Threads tell in any order; the coordinator waits for the last generation to be adopted.
void ServerLink::TellAdopted(uint64_t generation, bool awaited_next) {
  Post([this, generation, awaited_next] {
    if (generation <= adopted_generation_) return;
    adopted_generation_ = generation;
    awaited_next_ = awaited_next;
    next_heartbeat_ms_ = 0;
  });
}

void ServerLink::TellLost(uint64_t generation) {
  Post([this, generation] {
    lost_generation_ = std::max(lost_generation_, generation);
    next_heartbeat_ms_ = 0;
  });
}

session::OtherWaits ServerLink::OldestOutstanding(size_t server) const {
  std::lock_guard lock(mutex_);
  session::OtherWaits waits = outstanding_.Oldest(server);
  if (waits.data_since_ms) {
    waits.data_since_ms = std::max(*waits.data_since_ms, peers_[server].noticed_ms);
  }
  return waits;
}

// What has been asked for behind a push that is not in its session yet waits for that: its rows are
// those after the push.
void ServerLink::RepeatOutstanding(size_t server) {
  std::vector<Request> requests;
  for (bool is_next = false; !is_next;) {
    RunCommands();
    std::lock_guard lock(mutex_);
    is_next = commands_.empty();
    if (is_next) requests = outstanding_.AllFor(server);
  }
  for (Request& request : requests) Send(server, std::move(request));
}

// get() is called under the lock. Without a session the request leaves once there is one.
void ServerLink::SendRequest(size_t server, const std::function<std::optional<Request>()>& get) {
  std::optional<Request> request;
  {
    std::lock_guard lock(mutex_);
    request = get();
  }
  if (request && peers_[server].session->ready()) Send(server, *std::move(request));
}

// A proposal is kept with the pushes, and so is of a connection.
void ServerLink::Send(size_t server, Request request) {
  if (request.header.has_proposal()) {
    request.header.mutable_proposal()->set_connection(peers_[server].session->connection());
  }
  Send(server, request.header, request.body);
}

v1::Speaker ServerLink::Speaker() const {
  v1::Speaker speaker;
  speaker.set_trainer(options_.trainer);
  speaker.set_stage(options_.stage);
  speaker.set_incarnation(incarnation_);
  speaker.set_run(run_);
  return speaker;
}

void ServerLink::Send(size_t server, const v1::Header& header, const Body& body) {
  const transport::Message message = session::MakeMessage(header, body);
  const Status status = transport_->Send(peers_[server].connection, message);
  if (status.ok()) {
    meter_.AddSent(message);
  } else if (status.code() == StatusCode::kFailedPrecondition) {
    Fail(FailedPrecondition(StrCat("to ", PeerName(server), ": ", status.message())));
  }  // else a full queue, as good as a lost message: whatever is owed is asked for again
}

}  // namespace weir::worker
