#include "server/shard_reporter.h"

#include <algorithm>
#include <new>
#include <utility>

#include "common/base/strings.h"
#include "common/base/utf8.h"
#include "common/keys/key_folder.h"
#include "common/session/header_message.h"

namespace weir::server {
namespace {

// Who says hello may make a server ask, and so often at most.
constexpr int64_t kWishIntervalMs = 5;

}  // namespace

ShardReporter::ShardReporter(ShardReporterOptions options,
                             std::unique_ptr<transport::ClientTransport> transport,
                             std::function<void(uint64_t)> on_run,
                             std::function<void(Status)> on_end)
    : options_(std::move(options)),
      transport_(std::move(transport)),
      on_run_(std::move(on_run)),
      on_end_(std::move(on_end)),
      clock_(options_.environment.clock, 2 * options_.interval_ms) {}

ShardReporter::~ShardReporter() { Stop(); }

void ShardReporter::Stop() { End({}); }

void ShardReporter::SayFailure(const Status& status) {
  End(status.code() == StatusCode::kInterrupted ? "was stopped"
                                                : StrCat("has ended: ", ToUtf8(status.message())));
}

void ShardReporter::End(const std::string& failure) {
  MutexLock lock(mutex_);
  if (!transport_) return;
  if (options_.news != nullptr) options_.news->grants.OnWish({});
  stopping_ = true;
  transport_->Wake();
  if (thread_.joinable()) thread_.join();
  if (!failure.empty() && !has_told_end_ && (is_open_ || Open().ok())) {
    TellProgress();  // what it has done stays done
    header_.mutable_shard_report()->set_failure(failure);
    SendReport();
  }
  transport_.reset();  // what is queued leaves
}

void ShardReporter::Start() {
  if (options_.news != nullptr) options_.news->grants.OnWish([this] { transport_->Wake(); });
  thread_ = std::thread([this] {
    while (Step(options_.interval_ms)) continue;
  });
}

bool ShardReporter::Step(int64_t timeout_ms) {
  if (stopping_ || has_told_end_) return false;
  std::optional<Status> end = ReportOrRunOut(timeout_ms);
  if (stopping_) return false;
  if (!end) return true;
  has_told_end_ = true;
  on_end_(*std::move(end));
  return false;
}

std::optional<Status> ShardReporter::ReportOrRunOut(int64_t timeout_ms) {
  try {
    return Report(timeout_ms);
  } catch (const std::bad_alloc&) {
    return ResourceExhausted("no memory for words to the coordinator");
  }
}

std::optional<Status> ShardReporter::Report(int64_t timeout_ms) {
  if (Status status = is_open_ ? OkStatus() : Open(); !status.ok()) return status;
  const int64_t now_ms = clock_.Look();
  if (Status status = ReportIfDue(now_ms); !status.ok()) return status;
  const auto received = transport_->Receive(std::min(timeout_ms, next_report_ms_ - now_ms));
  clock_.Look();
  if (received) {
    connection_ms_ = clock_.NowMs();
    next_report_ms_ = answered_next_ms_;
    if (auto end = OnMessage(received->message)) return end;
  }
  return CheckSilence();
}

Status ShardReporter::ReportIfDue(int64_t now_ms) {
  if (options_.news != nullptr && options_.news->grants.has_wish()) {
    next_report_ms_ = std::min(next_report_ms_, reported_ms_ + kWishIntervalMs);
  }
  if (now_ms < next_report_ms_) return OkStatus();
  answered_next_ms_ = now_ms + TellProgress();
  next_report_ms_ = std::min(answered_next_ms_, now_ms + options_.busy_interval_ms);
  WEIR_RETURN_IF_ERROR(Reconnect(now_ms));
  reported_ms_ = now_ms;
  if (options_.news != nullptr) options_.news->grants.ClearWish();
  SendReport();
  return OkStatus();
}

Status ShardReporter::Open() {
  v1::ShardReport& report = *header_.mutable_shard_report();
  *report.mutable_identity() = options_.identity;
  report.set_shard(options_.shard_index);
  report.set_nonce(options_.nonce != 0 ? options_.nonce : options_.environment.nonce());
  report.set_saves(options_.saves);
  heard_ms_ = connection_ms_ = clock_.Look();
  WEIR_ASSIGN_OR_RETURN(connection_,
                        transport_->Open(options_.coordinator_address, keys::ServerName(0)));
  is_open_ = true;
  return OkStatus();
}

// A connection that a network has dropped without a word looks alive for longer than the
// coordinator waits for reports.
Status ShardReporter::Reconnect(int64_t now_ms) {
  if (now_ms - connection_ms_ <= options_.reconnect_ms) return OkStatus();
  transport_->Close(connection_);
  connection_ms_ = now_ms;
  WEIR_ASSIGN_OR_RETURN(connection_,
                        transport_->Open(options_.coordinator_address, keys::ServerName(0)));
  return OkStatus();
}

int64_t ShardReporter::TellProgress() {
  v1::ShardReport& report = *header_.mutable_shard_report();
  report.clear_loading();
  const auto loading = options_.loading ? options_.loading() : std::nullopt;
  const auto part = options_.part ? options_.part() : std::nullopt;
  if (loading) *report.mutable_loading() = *loading;
  if (part) *report.mutable_part() = *part;
  const auto checkpoint = options_.checkpoint ? options_.checkpoint() : std::nullopt;
  if (checkpoint) *report.mutable_checkpoint() = *checkpoint;
  if (options_.bounded != nullptr) options_.bounded->Fill(report.mutable_bounded());
  report.set_wants_checkpoint(options_.wants_checkpoint && options_.wants_checkpoint());
  const bool is_busy = loading || part || (checkpoint && !checkpoint->is_done());
  return is_busy ? std::min(options_.busy_interval_ms, options_.interval_ms) : options_.interval_ms;
}

// A full queue means that nobody takes our reports; CheckSilence speaks of that.
void ShardReporter::SendReport() {
  (void)transport_->Send(connection_, session::MakeMessage(header_));
}

}  // namespace weir::server
