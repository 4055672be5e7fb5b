#include "tools/inspect/record_text.h"

#include <vector>

#include "common/base/strings.h"
#include "common/wire/frame.h"

namespace weir::tools {
namespace {

std::string SeatText(uint32_t trainer, uint32_t stage) {
  return StrCat(" trainer ", trainer, " stage ", stage);
}

// Each process that has the seat counts its pushes anew.
std::string SequenceText(uint64_t incarnation, uint64_t sequence) {
  return StrCat(" incarnation ", incarnation, " sequence ", sequence);
}

std::string PushText(const v1::LoggedPush& push) {
  return StrCat(SeatText(push.trainer(), push.stage()),
                SequenceText(push.incarnation(), push.push().sequence()),
                push.push().is_refresh() ? " (no step)" : "");
}

std::string WorkerText(const v1::LogWorker& worker) {
  return StrCat(SeatText(worker.trainer(), worker.stage()),
                SequenceText(worker.incarnation(), worker.last_push().sequence()));
}

std::string StepText(const v1::LogStep& step) {
  std::vector<std::string> pushes;
  pushes.reserve(step.pushes().size());
  for (const v1::LoggedPush& push : step.pushes()) pushes.push_back(PushText(push));
  return StrJoin(pushes, ",");
}

std::string HelloText(const v1::LogHello& hello) {
  if (hello.run() != 0) return StrCat(" run ", hello.run());
  return StrCat(SeatText(hello.trainer(), hello.stage()), " incarnation ", hello.incarnation());
}

std::string PartsText(const v1::LogParts& parts) {
  size_t bytes = 0;
  for (const v1::LogPart& part : parts.parts()) bytes += part.state().size();
  return StrCat(" ", parts.parts_size(), " of the coordinator, ", bytes, " bytes of state");
}

std::string SaysText(const v1::LogRecord& record) {
  switch (record.kind_case()) {
    case v1::LogRecord::kStart:
      return StrCat(" shard ", record.start().shard(), " life ", record.start().epochs_size());
    case v1::LogRecord::kHello:
      return HelloText(record.hello());
    case v1::LogRecord::kStep:
      return StepText(record.step());
    case v1::LogRecord::kParts:
      return PartsText(record.parts());
    case v1::LogRecord::kAgreement:
      return StrCat(" round ", record.agreement().round());
    case v1::LogRecord::kFailure:
      return SeatText(record.failure().trainer(), record.failure().stage());
    case v1::LogRecord::kWorker:
      return WorkerText(record.worker());
    default:
      return "";
  }
}

Status CheckStep(const v1::LogStep& step, ByteSpan body) {
  if (step.pushes().empty()) return InvalidData("a step of no push");
  for (const v1::LoggedPush& push : step.pushes()) {
    if (push.body_bytes() > body.size()) return InvalidData("a push without all of its frames");
    body = body.subspan(push.body_bytes());
  }
  return body.empty() ? OkStatus() : InvalidData("frames of no push");
}

}  // namespace

std::string KindOf(const v1::LogRecord& record) {
  if (record.kind_case() == v1::LogRecord::KIND_NOT_SET) return "unknown";
  return v1::LogRecord::descriptor()->FindFieldByNumber(record.kind_case())->name();
}

std::string RecordText(const log::Record& record, uint64_t bytes) {
  return StrCat(record.number, " ", KindOf(record.header), SaysText(record.header), ", ", bytes,
                " bytes");
}

Status CheckRecord(const log::Record& record) {
  if (record.header.kind_case() == v1::LogRecord::KIND_NOT_SET) {
    return InvalidData("it is of a kind that this release does not know");
  }
  if (record.header.has_step()) WEIR_RETURN_IF_ERROR(CheckStep(record.header.step(), record.body));
  return CountSavedRows(record.body).status();
}

Result<uint64_t> CountSavedRows(ByteSpan frames) {
  uint64_t rows = 0;
  for (wire::FrameCursor cursor(frames); !cursor.done();) {
    WEIR_ASSIGN_OR_RETURN(const wire::FrameView frame, cursor.Next());
    if (frame.header.kind == wire::FrameKind::kSavedRows) rows += frame.header.count;
  }
  return rows;
}

}  // namespace weir::tools
