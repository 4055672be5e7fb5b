#include "server/log/server_log.h"

#include <limits>

namespace weir::server {
namespace {

// All frames of a push, behind the headers of its messages.
uint64_t AppendBody(const Contribution& contribution, std::vector<transport::Part>* body) {
  uint64_t bytes = 0;
  for (const transport::Message& message : contribution.messages) {
    for (size_t i = 1; i < message.parts.size(); ++i) {
      bytes += message.parts[i].size();
      body->push_back(message.parts[i]);
    }
  }
  return bytes;
}

}  // namespace

void ServerLog::Begin(std::unique_ptr<log::LogWriter> writer, Writing writing,
                      cluster::PartMap parts) {
  writer_ = std::move(writer);
  parts_ = std::move(parts);
  writing_ = writing;
  last_number_ = writer_->written();
}

void ServerLog::Add(v1::LogRecord record, std::vector<transport::Part> body) {
  last_number_ = writer_->Append(std::move(record), std::move(body));
}

void ServerLog::AddRun(uint64_t run) {
  if (!has_begun()) return;
  v1::LogRecord record;
  record.mutable_hello()->set_run(run);
  Add(std::move(record));
}

void ServerLog::AddHello(cluster::Seat seat, const v1::Hello& hello) {
  if (!has_begun()) return;
  v1::LogRecord record;
  record.mutable_hello()->set_trainer(seat.trainer);
  record.mutable_hello()->set_stage(seat.stage);
  record.mutable_hello()->set_stage_count(hello.stage_count());
  record.mutable_hello()->set_incarnation(hello.incarnation());
  Add(std::move(record));
}

void ServerLog::AddAgreement(uint64_t round, const std::vector<uint32_t>& members,
                             const v1::Agreement& agreement, std::vector<transport::Part> frames) {
  if (!has_begun()) return;
  v1::LogRecord record;
  record.mutable_agreement()->set_round(round);
  record.mutable_agreement()->mutable_members()->Add(members.begin(), members.end());
  *record.mutable_agreement()->mutable_agreement() = agreement;
  Add(std::move(record), std::move(frames));
}

void ServerLog::AddStep(v1::LogStep step, const std::vector<Contribution>& contributions) {
  if (!has_begun()) return;
  v1::LogRecord record;
  std::vector<transport::Part> body;
  *record.mutable_step() = std::move(step);
  for (size_t i = 0; i < contributions.size(); ++i) {
    v1::LoggedPush& push = *record.mutable_step()->mutable_pushes(static_cast<int>(i));
    push.set_body_bytes(AppendBody(contributions[i], &body));
  }
  Add(std::move(record), std::move(body));
}

void ServerLog::AddParts(cluster::PartMap parts) {
  if (!has_begun()) return;
  WriteParts(parts);
  for (auto& [name, state] : parts) {
    if (state.empty()) {
      parts_.erase(name);
    } else {
      parts_.insert_or_assign(name, std::move(state));
    }
  }
}

void ServerLog::WriteParts(const cluster::PartMap& parts) {
  v1::LogRecord record;
  for (const auto& [name, state] : parts) {
    v1::LogPart& part = *record.mutable_parts()->add_parts();
    part.set_name(name);
    part.set_state(state.data(), state.size());
  }
  Add(std::move(record));
}

void ServerLog::AddWorker(v1::LogWorker worker) {
  if (!has_begun()) return;
  v1::LogRecord record;
  *record.mutable_worker() = std::move(worker);
  Add(std::move(record));
}

void ServerLog::Cut(v1::LogStart start) {
  writer_->Cut(std::move(start));
  ++last_number_;
  if (!parts_.empty()) WriteParts(parts_);
}

void ServerLog::AddFailure(cluster::Seat seat, uint64_t incarnation, const std::string& reason) {
  if (!has_begun()) return;
  v1::LogRecord record;
  record.mutable_failure()->set_trainer(seat.trainer);
  record.mutable_failure()->set_stage(seat.stage);
  record.mutable_failure()->set_incarnation(incarnation);
  record.mutable_failure()->set_reason(reason);
  Add(std::move(record));
}

void ServerLog::Await(uint64_t number, std::function<void()> then) {
  if (!has_begun() || writer_->written() >= number) return then();
  waiting_.emplace(number, std::move(then));
}

void ServerLog::AwaitDurable(uint64_t number, std::function<void()> then) {
  if (!has_begun() || writer_->durable() >= number) return then();
  waiting_for_durable_.emplace(number, std::move(then));
}

void ServerLog::Release(uint64_t number, Waiting* waiting) {
  while (!waiting->empty() && waiting->begin()->first <= number) {
    const std::function<void()> then = std::move(waiting->begin()->second);
    waiting->erase(waiting->begin());
    then();
  }
}

void ServerLog::GiveUp() {
  End();
  constexpr uint64_t kAll = std::numeric_limits<uint64_t>::max();
  Release(kAll, &waiting_);
  Release(kAll, &waiting_for_durable_);
}

bool ServerLog::TakePromise() {
  if (!has_begun() || !writing_.syncs) return false;
  const uint64_t durable = writer_->durable();
  return std::exchange(told_number_, durable) != durable;
}

void ServerLog::Step() {
  if (!has_begun()) return;
  if (!writing_.has_thread && writer_->durable() < last_number_) writer_->Step();
  Release(writer_->written(), &waiting_);
  Release(writer_->durable(), &waiting_for_durable_);
}

}  // namespace weir::server
