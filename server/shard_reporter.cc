#include "server/shard_reporter.h"

#include <optional>
#include <random>

#include "common/base/clock.h"
#include "common/base/strings.h"
#include "common/session/header_message.h"

namespace weir::server {
namespace {

std::optional<v1::ShardReply> ParseReply(const transport::Message& message) {
  const auto header = session::ParseHeader(message);
  if (!header || !header->has_shard_reply()) return std::nullopt;
  return header->shard_reply();
}

}  // namespace

ShardReporter::ShardReporter(ShardReporterOptions options,
                             std::unique_ptr<transport::ClientTransport> transport,
                             std::function<void(Status)> on_end)
    : options_(std::move(options)), transport_(std::move(transport)), on_end_(std::move(on_end)) {}

ShardReporter::~ShardReporter() {
  stopping_ = true;
  transport_->Wake();
  if (thread_.joinable()) thread_.join();
}

void ShardReporter::Start() {
  thread_ = std::thread([this] { Run(); });
}

void ShardReporter::Run() {
  Status status = Report();
  if (!stopping_) on_end_(std::move(status));
}

// Ends when the run does, when the coordinator refuses or falls silent, or when it is stopped.
Status ShardReporter::Report() {
  v1::Header header;
  v1::ShardReport& report = *header.mutable_shard_report();
  *report.mutable_identity() = options_.identity;
  report.set_shard(options_.shard_index);
  std::random_device random;
  report.set_nonce((static_cast<uint64_t>(random()) << 32 | random()) | 1);

  WEIR_ASSIGN_OR_RETURN(const transport::ConnectionId connection,
                        transport_->Open(options_.coordinator_address));
  const Clock& clock = Clock::Real();
  int64_t heard_ms = clock.NowMs();
  int64_t next_report_ms = 0;
  bool heard_once = false;
  while (!stopping_) {
    const int64_t now_ms = clock.NowMs();
    if (now_ms >= next_report_ms) {
      next_report_ms = now_ms + options_.interval_ms;
      // A full queue means that nobody takes our reports; the timeout below speaks of that.
      (void)transport_->Send(connection, session::MakeMessage(header));
    }
    const auto received = transport_->Receive(next_report_ms - now_ms);
    if (received) {
      if (const auto reply = ParseReply(received->message)) {
        heard_once = true;
        if (reply->state() == v1::ShardReply::TAKEN) {
          // A restarted server stays for a while, so that workers learn that it was restarted.
          if (clock.NowMs() - heard_ms > options_.taken_timeout_ms) {
            return FailedPrecondition(StrCat("server 0 at ", options_.coordinator_address,
                                             " refuses: ", reply->reason()));
          }
          continue;
        }
        heard_ms = clock.NowMs();
        if (reply->state() == v1::ShardReply::FINISHED ||
            reply->state() == v1::ShardReply::FAILED) {
          report.set_farewell(true);
          (void)transport_->Send(connection, session::MakeMessage(header));
        }
        if (reply->state() == v1::ShardReply::FINISHED) return OkStatus();
        if (reply->state() == v1::ShardReply::FAILED) {
          return FailedPrecondition(StrCat("the run has failed: ", reply->reason()));
        }
        if (reply->state() == v1::ShardReply::REFUSED) {
          return FailedPrecondition(
              StrCat("server 0 at ", options_.coordinator_address, " refuses: ", reply->reason()));
        }
      }
    }
    const int64_t silent_ms = clock.NowMs() - heard_ms;
    if (silent_ms > (heard_once ? options_.timeout_ms : options_.first_timeout_ms)) {
      return DeadlineExceeded(StrCat("server 0 (the coordinator) at ", options_.coordinator_address,
                                     " did not answer for ", silent_ms, " ms; is it running?"));
    }
  }
  return OkStatus();
}

}  // namespace weir::server
