#include "common/session/damage.h"

#include <cstddef>
#include <string>

#include "common/base/strings.h"
#include "common/wire/frame.h"

namespace weir::session {
namespace {

// What tells a message from others of its kind, in whatever connection it comes.
uint64_t NumberOf(const v1::Header& header) {
  switch (header.body_case()) {
    case v1::Header::kPush:
      return header.push().sequence();
    case v1::Header::kPushPart:
      return header.push_part().name();
    case v1::Header::kAnswer:
      return header.answer().sequence();
    case v1::Header::kRowPull:
      return header.row_pull().request_id();
    case v1::Header::kRowReply:
      return header.row_reply().request_id();
    case v1::Header::kProposal:
      return header.proposal().request_id();
    case v1::Header::kAgreement:
      return header.agreement().request_id();
    case v1::Header::kWorkRequest:
      return header.work_request().request_id();
    case v1::Header::kModelReply:
      return header.model_reply().request_id();
    default:
      return 0;
  }
}

// "push 7", "row_reply 3".
std::string NameOf(const v1::Header& header) {
  const auto* field = v1::Header::descriptor()->FindFieldByNumber(header.body_case());
  return StrCat(field == nullptr ? "message" : field->name(), " ", NumberOf(header));
}

}  // namespace

Status CheckFrames(const v1::Header& header, const transport::Message& message) {
  if (header.has_probe()) return OkStatus();
  for (size_t i = 1; i < message.parts.size(); ++i) {
    wire::FrameCursor cursor(message.parts[i].span());
    while (!cursor.done()) {
      const auto frame = cursor.Next();
      if (frame.ok()) continue;
      return InvalidData(
          StrCat(NameOf(header), " came damaged: part ", i, ": ", frame.status().message()));
    }
  }
  return OkStatus();
}

bool DamageBook::Add(const v1::Header& header) {
  Entry& entry = last_[header.body_case()];
  const uint64_t number = NumberOf(header);
  if (entry.number != number) entry = {number, 0};
  return ++entry.times >= kMostTimes;
}

}  // namespace weir::session
