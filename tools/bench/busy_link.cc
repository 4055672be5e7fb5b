#include "tools/bench/busy_link.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "common/base/clock.h"
#include "common/base/strings.h"

namespace weir::bench {
namespace {

using Pace = Traffic::Pace;

constexpr int64_t kWindow = 4;  // messages without an answer
constexpr size_t kAnswerBytes = 8, kEndBytes = 1;
constexpr size_t kComparedBytes = 64;  // of a message's end

bool IsSame(ByteSpan got, ByteSpan sent) {
  const size_t count = std::min(kComparedBytes, sent.size());
  return got.size() == sent.size() && std::ranges::equal(got.last(count), sent.last(count));
}

}  // namespace

BusyLink::BusyLink(const Traffic& traffic, MessageEnds ends)
    : traffic_(traffic),
      ends_(std::move(ends)),
      message_(static_cast<size_t>(std::max<int64_t>(traffic.push_bytes / traffic.messages, 2)), 1),
      answer_(kAnswerBytes, 2),
      end_(kEndBytes, 3),
      begin_(MonotonicSeconds()) {
  if (traffic_.pace == Pace::kNone) return;
  server_ = std::thread([this] { answered_ = Answer(); });
  sender_ = std::thread([this] { sent_ = Send(); });
}

void BusyLink::StepDone() {
  ++steps_;
  if (traffic_.pace == Pace::kEachStep) steps_.notify_one();
}

Status BusyLink::Stop() {
  if (all_steps_ == kNotYet) {
    all_steps_ = steps_.load();
    StepDone();
  }
  if (sender_.joinable()) sender_.join();
  if (server_.joinable()) server_.join();
  return Joined(sent_, answered_);
}

bool BusyLink::AwaitDue() {
  if (traffic_.pace == Pace::kByRate) {
    const double due = begin_ + static_cast<double>(sent_pushes_ * traffic_.push_bytes) /
                                    traffic_.bytes_per_second;
    std::this_thread::sleep_for(std::chrono::duration<double>(due - MonotonicSeconds()));
  }
  if (traffic_.pace != Pace::kEachStep) return sent_pushes_ == 0 || all_steps_ == kNotYet;
  steps_.wait(sent_pushes_);
  return sent_pushes_ < all_steps_;
}

Status BusyLink::Send() {
  Status status;
  while (status.ok() && AwaitDue()) status = SendPush();
  if (status.ok()) status = AwaitAnswers(0);
  return Joined(status, ends_.client->Send(end_));
}

Status BusyLink::SendPush() {
  for (int i = 0; i < traffic_.messages; ++i) {
    WEIR_RETURN_IF_ERROR(AwaitAnswers(kWindow - 1));
    WEIR_RETURN_IF_ERROR(ends_.client->Send(message_));
    ++unanswered_;
  }
  ++sent_pushes_;
  return OkStatus();
}

Status BusyLink::AwaitAnswers(int64_t unanswered) {
  for (; unanswered_ > unanswered; --unanswered_) {
    const auto got = ends_.client->Receive();
    if (!got) return DeadlineExceeded("a push is not answered");
    if (!IsSame(*got, answer_.part.span())) return Internal("an answer is not what was sent");
  }
  return OkStatus();
}

Status BusyLink::Answer() {
  for (;;) {
    const auto got = ends_.server->Receive();
    if (!got) return DeadlineExceeded("no push arrives");
    if (got->size() == kEndBytes) return OkStatus();
    if (!IsSame(*got, message_.part.span())) return Internal("a push is not what was sent");
    WEIR_RETURN_IF_ERROR(ends_.server->Send(answer_));
  }
}

}  // namespace weir::bench
