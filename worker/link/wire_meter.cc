#include "worker/link/wire_meter.h"

#include "common/wire/frame.h"

namespace weir::worker {
namespace {

// Adds to the counter of the kind of the part's frames.
void AddPart(const transport::Part& part, uint64_t byte_count, v1::KindBytes* bytes) {
  switch (wire::ClaimedKind(part.span()).value_or(wire::FrameKind::kScores)) {
    case wire::FrameKind::kGradient:
    case wire::FrameKind::kAgreedGradients:
      return bytes->set_push(bytes->push() + byte_count);
    case wire::FrameKind::kValues:
    case wire::FrameKind::kAgreedValues:
      return bytes->set_pull(bytes->pull() + byte_count);
    case wire::FrameKind::kRowIds:
    case wire::FrameKind::kRowValues:
      return bytes->set_row_pull(bytes->row_pull() + byte_count);
    case wire::FrameKind::kRowGradients:
      return bytes->set_row_push(bytes->row_push() + byte_count);
    case wire::FrameKind::kActivations:
      return bytes->set_forward(bytes->forward() + byte_count);
    case wire::FrameKind::kActivationGradients:
      return bytes->set_backward(bytes->backward() + byte_count);
    default:
      return bytes->set_control(bytes->control() + byte_count);
  }
}

}  // namespace

void WireMeter::AddSent(const transport::Message& message) {
  MutexLock lock(mutex_);
  Add(message, &sent_);
}

void WireMeter::AddReceived(const transport::Message& message) {
  MutexLock lock(mutex_);
  const uint64_t before = received_.pull();
  Add(message, &received_);
  answers_.Add({0, static_cast<double>(received_.pull() - before)});
}

void WireMeter::Add(const transport::Message& message, v1::KindBytes* bytes) {
  const size_t header_bytes = transport::WireBytes(message.parts[0]);
  if (message.parts.size() == 1) {
    bytes->set_control(bytes->control() + header_bytes);
    return;
  }
  AddPart(message.parts[1], header_bytes, bytes);
  for (size_t i = 1; i < message.parts.size(); ++i) {
    AddPart(message.parts[i], transport::WireBytes(message.parts[i]), bytes);
  }
}

void WireMeter::AddSentForEvaluation(const transport::Message& message) {
  MutexLock lock(mutex_);
  uint64_t bytes = 0;
  for (const transport::Part& part : message.parts) bytes += transport::WireBytes(part);
  sent_.set_evaluation(sent_.evaluation() + bytes);
}

void WireMeter::AddDense(const v1::KindBytes& bytes) {
  MutexLock lock(mutex_);
  dense_.set_push(dense_.push() + bytes.push());
  dense_.set_pull(dense_.pull() + bytes.pull());
  dense_.set_row_push(dense_.row_push() + bytes.row_push());
  dense_.set_row_pull(dense_.row_pull() + bytes.row_pull());
  answers_.Add({static_cast<double>(bytes.pull()), 0});
}

void WireMeter::FillReport(v1::WorkerReport* report) const {
  MutexLock lock(mutex_);
  *report->mutable_sent() = sent_;
  *report->mutable_received() = received_;
  *report->mutable_dense() = dense_;
  const auto first = answers_.first(), last = answers_.last();
  v1::AnswerPartsReport& parts = *report->mutable_answer_parts();
  parts.set_first_dense_bytes(static_cast<uint64_t>(first[0]));
  parts.set_first_bytes(static_cast<uint64_t>(first[1]));
  parts.set_last_dense_bytes(static_cast<uint64_t>(last[0]));
  parts.set_last_bytes(static_cast<uint64_t>(last[1]));
}

}  // namespace weir::worker
