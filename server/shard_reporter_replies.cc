// What a server learns from server 0's replies to its reports, and of its silence.

#include <utility>

#include "common/base/strings.h"
#include "common/session/header_message.h"
#include "server/shard_reporter.h"

namespace weir::server {

std::optional<Status> ShardReporter::OnMessage(const transport::Message& message) {
  const auto header = session::ParseHeader(message);
  if (header.status().code() == StatusCode::kFailedPrecondition) {
    return Refused(header.status().message());
  }
  if (!header.ok()) return std::nullopt;  // reports are made again and again
  if (header->has_shard_reply()) return OnReply(header->shard_reply());
  // Whoever is there does not take reports: it is not the coordinator, or not of our kind.
  if (header->has_refusal() && !header->refusal().retry()) {
    return Refused(header->refusal().reason());
  }
  return std::nullopt;
}

std::optional<Status> ShardReporter::OnReply(const v1::ShardReply& reply) {
  heard_once_ = true;
  const int64_t now_ms = clock_.NowMs();
  if (reply.state() == v1::ShardReply::TAKEN) {
    // A restarted server stays for a while, so that workers learn that it was restarted.
    if (now_ms - heard_ms_ <= options_.taken_timeout_ms) return std::nullopt;
    return Refused(reply.reason());
  }
  heard_ms_ = now_ms;
  Take(reply);
  if (run_ == 0) {
    run_ = reply.run();
    header_.mutable_shard_report()->set_run(run_);
    on_run_(run_);
  }
  if (run_ != reply.run()) {
    return FailedPrecondition(StrCat("server 0 at ", options_.coordinator_address,
                                     " was restarted and knows nothing of this run; start the run "
                                     "again, with all servers"));
  }
  if (reply.state() == v1::ShardReply::REFUSED) return Refused(reply.reason());
  if (reply.save() && options_.on_save && !std::exchange(was_told_to_save_, true)) {
    options_.on_save();
  }
  const bool failed = reply.state() == v1::ShardReply::FAILED;
  if (!failed && reply.state() != v1::ShardReply::FINISHED) return std::nullopt;
  header_.mutable_shard_report()->set_farewell(true);
  SendReport();
  if (!failed) return OkStatus();
  return FailedPrecondition(StrCat("the run has failed: ", reply.reason()));
}

void ShardReporter::Take(const v1::ShardReply& reply) {
  if (run_ != 0 && run_ != reply.run()) return;
  if (options_.news == nullptr) return;
  options_.news->departures.Set({reply.departures().begin(), reply.departures().end()});
  options_.news->grants.Set(reply);
}

std::optional<Status> ShardReporter::CheckSilence() const {
  const int64_t silent_ms = clock_.NowMs() - heard_ms_;
  if (silent_ms <= (heard_once_ ? options_.timeout_ms : options_.first_timeout_ms)) {
    return std::nullopt;
  }
  return DeadlineExceeded(StrCat("server 0 (the coordinator) at ", options_.coordinator_address,
                                 " did not answer for ", silent_ms, " ms; is it running?"));
}

Status ShardReporter::Refused(const std::string& reason) const {
  return FailedPrecondition(
      StrCat("server 0 at ", options_.coordinator_address, " refuses: ", reason));
}

}  // namespace weir::server
