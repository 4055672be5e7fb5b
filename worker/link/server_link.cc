#include "worker/link/server_link.h"

#include <algorithm>
#include <random>
#include <utility>

#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/hogwild.h"
#include "common/base/strings.h"
#include "common/session/run_identity.h"
#include "common/wire/piece_frame.h"

namespace weir::worker {
namespace {

constexpr int64_t kTickMs = 20;
constexpr int64_t kHeartbeatMs = 1000;
constexpr int64_t kJoinRetryMs = 300;

int64_t NowMs() { return Clock::Real().NowMs(); }

transport::Message MakeMessage(const v1::Header& header, const Body& body) {
  Bytes bytes(header.ByteSizeLong());
  CHECK(header.SerializeToArray(bytes.data(), static_cast<int>(bytes.size())));
  transport::Message message;
  message.parts.emplace_back(std::move(bytes));
  message.parts.insert(message.parts.end(), body.begin(), body.end());
  return message;
}

bool ParseHeader(const transport::Message& message, v1::Header* header) {
  if (message.parts.empty()) return false;
  const ByteSpan bytes = message.parts[0].span();
  return header->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

Body BodyOf(const transport::Message& message) {
  return {message.parts.begin() + 1, message.parts.end()};
}

uint64_t RandomNonce() {
  std::random_device random;
  return (static_cast<uint64_t>(random()) << 32 | random()) | 1;
}

}  // namespace

ServerLink::ServerLink(const v1::Config& config, const ModelLayout& layout, LinkOptions options,
                       std::unique_ptr<transport::ClientTransport> transport)
    : config_(config),
      layout_(layout),
      options_(std::move(options)),
      identity_(session::MakeRunIdentity(config,
                                         static_cast<uint32_t>(options_.server_addresses.size()))),
      transport_(std::move(transport)),
      replica_(static_cast<size_t>(layout.flat_element_count())),
      peers_(options_.server_addresses.size()) {
  CHECK_EQ(layout.server_count(), peers_.size());
  for (size_t i = 0; i < peers_.size(); ++i) peers_[i].address = options_.server_addresses[i];
  for (const PieceSpec& piece : layout.pieces()) {
    pieces_[{piece.tensor, static_cast<uint32_t>(piece.begin)}] = &piece;
  }
  progress_.versions.resize(peers_.size());
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
  WEIR_ASSIGN_OR_RETURN(const v1::JoinReply joined, Join());
  OpenSessions(joined);
  thread_ = std::thread([this] { Run(); });
  return AwaitReplica();
}

Result<v1::JoinReply> ServerLink::Join() {
  v1::Header header;
  v1::Join& join = *header.mutable_join();
  *join.mutable_identity() = identity_;
  join.set_trainer(options_.trainer);
  join.set_stage(options_.stage);
  join.set_nonce(RandomNonce());

  WEIR_ASSIGN_OR_RETURN(peers_[0].connection, transport_->Open(peers_[0].address));
  const int64_t timeout_ms = config_.cluster().connect_timeout_ms();
  const int64_t deadline_ms = NowMs() + timeout_ms;
  std::string reason = "is weir-server running there, and is the port open?";
  int64_t next_ms = 0;
  while (NowMs() < deadline_ms) {
    if (stopping_) return Interrupted("stopped");
    if (NowMs() >= next_ms) {
      const transport::Message message = MakeMessage(header, {});
      meter_.AddSent(message);
      WEIR_RETURN_IF_ERROR(transport_->Send(peers_[0].connection, message));
      next_ms = NowMs() + kJoinRetryMs;
    }
    const auto incoming = transport_->Receive(kTickMs);
    v1::Header reply;
    if (!incoming || !ParseHeader(incoming->message, &reply)) continue;
    meter_.AddReceived(incoming->message);
    if (reply.has_join_reply()) return reply.join_reply();
    if (!reply.has_refusal()) continue;
    reason = StrCat("it refuses: ", reply.refusal().reason());
    if (!reply.refusal().retry()) return FailedPrecondition(StrCat(PeerName(0), " ", reason));
  }
  return DeadlineExceeded(StrCat("could not join the run through ", PeerName(0), " within ",
                                 timeout_ms, " ms; ", reason));
}

void ServerLink::OpenSessions(const v1::JoinReply& joined) {
  incarnation_ = joined.incarnation();
  const v1::ClusterConfig& cluster = config_.cluster();
  for (size_t i = 0; i < peers_.size(); ++i) {
    session::ClientSessionOptions session;
    session.peer_name = PeerName(i);
    session.identity = identity_;
    session.trainer = options_.trainer;
    session.stage = options_.stage;
    session.incarnation = incarnation_;
    session.membership_epoch = joined.membership_epoch();
    session.connect_timeout_ms = cluster.connect_timeout_ms();
    session.answer_timeout_ms = cluster.answer_timeout_ms();
    session.silence_ms = std::clamp<int64_t>(cluster.answer_timeout_ms() / 8, 100, 3000);
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
         (credits_taken_ < cluster.window() && kept_bytes_ < cluster.max_unacknowledged_bytes());
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

ServerLink::Progress ServerLink::progress() const {
  std::lock_guard lock(mutex_);
  return progress_;
}

uint64_t ServerLink::SubmitPush(v1::Push push, std::vector<Body> bodies, const Progress& read) {
  CHECK_EQ(bodies.size(), peers_.size());
  uint64_t sequence = 0;
  {
    // One lock for number and queue, so that pushes reach the sessions in the order of their
    // numbers.
    std::lock_guard lock(mutex_);
    sequence = ++submitted_;
    push.set_own_in_flight(static_cast<uint32_t>(sequence - 1 - read.accepted_sequence));
    commands_.push_back([this, push = std::move(push), bodies = std::move(bodies),
                         versions = read.versions]() mutable {
      for (size_t i = 0; i < peers_.size(); ++i) {
        push.set_read_version(versions[i]);
        Do(i, peers_[i].session->Submit(push, std::move(bodies[i]), NowMs()), nullptr);
      }
    });
  }
  transport_->Wake();
  return sequence;
}

Status ServerLink::AwaitAccepted(uint64_t sequence) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !failure_.ok() || progress_.accepted_sequence >= sequence; });
  return failure_;
}

uint64_t ServerLink::SubmitRowPull(std::vector<Body> requests, bool read_only) {
  CHECK_EQ(requests.size(), peers_.size());
  std::lock_guard lock(mutex_);
  const uint64_t id = next_pull_id_++;
  PendingPull& pull = pulls_[id];
  pull.read_only = read_only;
  pull.requests = std::move(requests);
  pull.replies.resize(peers_.size());
  pull.since_ms = NowMs();
  for (size_t i = 0; i < peers_.size(); ++i) {
    if (pull.requests[i].empty()) {
      pull.replies[i] = Body();
    } else {
      ++pull.left;
    }
  }
  commands_.push_back([this, id] {
    std::unique_lock command_lock(mutex_);
    const auto found = pulls_.find(id);
    if (found == pulls_.end()) return;
    const PendingPull pull_copy = found->second;
    command_lock.unlock();
    for (size_t i = 0; i < peers_.size(); ++i) SendPull(i, id, pull_copy);
  });
  transport_->Wake();
  return id;
}

Result<std::vector<Body>> ServerLink::AwaitRowReplies(uint64_t request_id) {
  std::unique_lock lock(mutex_);
  const auto found = pulls_.find(request_id);
  CHECK(found != pulls_.end());
  PendingPull& pull = found->second;
  changed_.wait(lock, [&] { return !failure_.ok() || pull.left == 0; });
  if (!failure_.ok()) return failure_;
  std::vector<Body> replies;
  for (auto& reply : pull.replies) replies.push_back(*std::move(reply));
  pulls_.erase(found);
  return replies;
}

Result<v1::WorkReply> ServerLink::RequestWork(v1::WorkRequest request, Body scores) {
  std::unique_lock lock(mutex_);
  if (!failure_.ok()) return failure_;
  CHECK(!work_.has_value()) << "one request at a time";
  request.set_request_id(next_work_id_++);
  request.set_trainer(options_.trainer);
  request.set_incarnation(incarnation_);
  work_ = {
      .request = std::move(request), .scores = std::move(scores), .since_ms = NowMs(), .reply = {}};
  commands_.push_back([this, work = *work_] { SendWork(work); });
  transport_->Wake();
  changed_.wait(lock, [&] { return !failure_.ok() || work_->reply.has_value(); });
  const std::optional<PendingWork> done = std::move(work_);
  work_.reset();
  // What the coordinator said counts even if the link has failed since.
  if (done->reply) return *done->reply;
  return failure_;
}

void ServerLink::Stop(const Status& status, bool tell_others) {
  if (!thread_.joinable()) {
    stopping_ = true;
    return;
  }
  if (tell_others) {
    Post([this, reason = status.message()] {
      v1::Header header;
      v1::WorkRequest& request = *header.mutable_work_request();
      request.set_trainer(options_.trainer);
      request.set_incarnation(incarnation_);
      request.set_failure(reason);
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
    commands_.push_back(std::move(command));
  }
  transport_->Wake();
}

void ServerLink::Fail(const Status& status) {
  std::lock_guard lock(mutex_);
  if (failure_.ok()) failure_ = status;
  changed_.notify_all();
}

// --- The I/O thread ----------------------------------------------------------------------------

void ServerLink::Run() {
  for (size_t i = 0; i < peers_.size(); ++i) Do(i, peers_[i].session->Start(NowMs()), nullptr);
  int64_t next_tick_ms = 0;
  while (!stopping_) {
    RunCommands();
    if (auto incoming = transport_->Receive(kTickMs)) Receive(*std::move(incoming));
    if (NowMs() < next_tick_ms) continue;
    next_tick_ms = NowMs() + kTickMs;
    Tick();
  }
  RunCommands();  // a last word, if there is one
}

void ServerLink::RunCommands() {
  std::vector<std::function<void()>> commands;
  {
    std::lock_guard lock(mutex_);
    commands.swap(commands_);
  }
  for (auto& command : commands) command();
}

void ServerLink::Receive(transport::ConnectionMessage incoming) {
  meter_.AddReceived(incoming.message);
  const auto peer = std::find_if(peers_.begin(), peers_.end(), [&](const Peer& p) {
    return p.connection == incoming.connection;
  });
  if (peer == peers_.end()) return;  // a connection that was given up
  const auto server = static_cast<size_t>(peer - peers_.begin());
  v1::Header header;
  if (!ParseHeader(incoming.message, &header)) {
    return Fail(InvalidData(StrCat(PeerName(server), " sent a header that does not parse")));
  }
  Handle(server, header, incoming.message);
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
      Do(server, session.OnHelloReply(header.hello_reply(), NowMs()), nullptr);
      if (session.ready()) RepeatOutstanding(server);
      break;
    case v1::Header::kAnswer:
      Do(server, session.OnAnswer(header.answer(), NowMs()), &message);
      if (!header.answer().is_catch_up()) {
        std::lock_guard lock(mutex_);
        staleness_.Add(header.answer().staleness());
      }
      break;
    case v1::Header::kRefusal:
      Do(server, session.OnRefusal(header.refusal(), NowMs()), nullptr);
      break;
    case v1::Header::kRowReply:
      TakeRowReply(server, header.row_reply().request_id(), message);
      break;
    case v1::Header::kWorkReply:
      TakeWorkReply(header.work_reply());
      break;
    default:
      break;  // a late reply to a join
  }
  PublishProgress();
}

void ServerLink::Do(size_t server, session::ClientActions actions,
                    const transport::Message* answer) {
  using Kind = session::ClientAction::Kind;
  Peer& peer = peers_[server];
  for (session::ClientAction& action : actions) {
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
        ApplyAnswer(server, *answer);
        break;
      case Kind::kAccepted:
        break;  // PublishProgress reads it from the session
      case Kind::kFail:
        Fail(action.status);
        break;
    }
  }
}

void ServerLink::ApplyAnswer(size_t server, const transport::Message& answer) {
  for (size_t i = 1; i < answer.parts.size(); ++i) {
    wire::FrameCursor cursor(answer.parts[i].span());
    while (!cursor.done()) {
      auto frame = cursor.Next();
      Status status = frame.ok() ? ApplyFrame(server, *frame) : frame.status();
      if (!status.ok()) {
        return Fail(
            InvalidData(StrCat(PeerName(server), " sent a damaged answer: ", status.message())));
      }
    }
  }
}

Status ServerLink::ApplyFrame(size_t server, const wire::FrameView& frame) {
  const auto found = pieces_.find({frame.header.tensor, frame.header.begin});
  const bool is_its_piece = found != pieces_.end() && found->second->server == server &&
                            frame.header.kind == wire::FrameKind::kValues;
  if (!is_its_piece) return InvalidData("unexpected " + wire::DescribeFrame(frame.header));
  const PieceSpec& piece = *found->second;
  float* first = replica_.data() + layout_.tensors()[piece.tensor].offset + piece.begin;
  wire::PieceFrameReader reader(frame, static_cast<uint32_t>(piece.element_count));
  wire::Block block;
  while (true) {
    WEIR_ASSIGN_OR_RETURN(const bool more, reader.Next(&block));
    if (!more) return OkStatus();
    float* stripe = first + block.stripe * kStripeElements;
    if (block.dense) {
      hogwild::Copy(block.values.data(), stripe, block.values.size());
    } else {
      hogwild::Scatter(block.values.data(), block.indexes.data(), block.indexes.size(), stripe);
    }
  }
}

void ServerLink::PublishProgress() {
  std::lock_guard lock(mutex_);
  uint64_t accepted = UINT64_MAX;
  servers_ready_ = 0;
  reconnects_ = replayed_ = 0;
  kept_bytes_ = 0;
  for (size_t i = 0; i < peers_.size(); ++i) {
    const session::ClientSession& session = *peers_[i].session;
    accepted = std::min(accepted, session.accepted_sequence());
    progress_.versions[i] = session.version();
    servers_ready_ += session.has_version() ? 1 : 0;
    reconnects_ += session.reconnects();
    replayed_ += session.replayed_pushes();
    kept_bytes_ += session.kept_bytes();
  }
  credits_taken_ -= static_cast<int64_t>(accepted - progress_.accepted_sequence);
  progress_.accepted_sequence = accepted;
  changed_.notify_all();
}

void ServerLink::TakeRowReply(size_t server, uint64_t request_id,
                              const transport::Message& message) {
  std::lock_guard lock(mutex_);
  const auto found = pulls_.find(request_id);
  if (found == pulls_.end() || found->second.replies[server]) return;  // answered twice
  found->second.replies[server] = BodyOf(message);
  --found->second.left;
}

void ServerLink::TakeWorkReply(const v1::WorkReply& reply) {
  if (reply.has_failed()) {
    SayFarewell();
    return Fail(FailedPrecondition(StrCat("the run has failed: ", reply.failed())));
  }
  if (reply.has_finished()) SayFarewell();
  std::lock_guard lock(mutex_);
  if (work_ && work_->request.request_id() == reply.request_id()) work_->reply = reply;
}

// The coordinator waits for it before it goes, so that nobody is left asking.
void ServerLink::SayFarewell() {
  run_is_over_ = true;
  v1::Header header;
  v1::WorkRequest& request = *header.mutable_work_request();
  request.set_trainer(options_.trainer);
  request.set_incarnation(incarnation_);
  request.set_farewell(true);
  Send(0, header, {});
}

void ServerLink::Tick() {
  const int64_t now_ms = NowMs();
  for (size_t i = 0; i < peers_.size(); ++i) {
    Do(i, peers_[i].session->Tick(OldestOutstanding(i), now_ms), nullptr);
  }
  if (now_ms < next_heartbeat_ms_) return;
  next_heartbeat_ms_ = now_ms + kHeartbeatMs;
  SendHeartbeat();
}

void ServerLink::SendHeartbeat() {
  if (run_is_over_ || !peers_[0].session->ready()) return;
  v1::Header header;
  v1::WorkRequest& request = *header.mutable_work_request();
  request.set_trainer(options_.trainer);
  request.set_incarnation(incarnation_);
  request.set_heartbeat_only(true);
  Send(0, header, {});
}

std::optional<int64_t> ServerLink::OldestOutstanding(size_t server) const {
  std::lock_guard lock(mutex_);
  std::optional<int64_t> oldest;
  for (const auto& [id, pull] : pulls_) {
    if (!pull.replies[server]) oldest = std::min(oldest.value_or(pull.since_ms), pull.since_ms);
  }
  if (server == 0 && work_ && !work_->reply) {
    oldest = std::min(oldest.value_or(work_->since_ms), work_->since_ms);
  }
  return oldest;
}

void ServerLink::RepeatOutstanding(size_t server) {
  std::map<uint64_t, PendingPull> pulls;
  std::optional<PendingWork> work;
  {
    std::lock_guard lock(mutex_);
    pulls = pulls_;
    work = work_;
  }
  for (const auto& [id, pull] : pulls) SendPull(server, id, pull);
  if (server == 0 && work && !work->reply) SendWork(*work);
}

void ServerLink::SendPull(size_t server, uint64_t request_id, const PendingPull& pull) {
  if (pull.replies[server] || !peers_[server].session->ready()) return;
  v1::Header header;
  header.mutable_row_pull()->set_request_id(request_id);
  header.mutable_row_pull()->set_read_only(pull.read_only);
  Send(server, header, pull.requests[server]);
}

void ServerLink::SendWork(const PendingWork& work) {
  if (!peers_[0].session->ready()) return;
  v1::Header header;
  *header.mutable_work_request() = work.request;
  Send(0, header, work.scores);
}

void ServerLink::Send(size_t server, const v1::Header& header, const Body& body) {
  const transport::Message message = MakeMessage(header, body);
  // A full queue is as good as a lost message: whatever is owed is asked for again.
  if (transport_->Send(peers_[server].connection, message).ok()) meter_.AddSent(message);
}

}  // namespace weir::worker
