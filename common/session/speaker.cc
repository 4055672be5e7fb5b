#include "common/session/speaker.h"

#include "common/base/strings.h"
#include "common/keys/key_folder.h"

namespace weir::session {
namespace {

using transport::PeerName;

PeerName NameOf(const v1::Speaker& speaker) {
  return keys::WorkerName(speaker.trainer(), speaker.stage());
}

// Whom a message says that it is from; empty: it does not.
PeerName SpeakerOf(const v1::Header& header) {
  switch (header.body_case()) {
    case v1::Header::kJoin:
      return keys::WorkerName(header.join().trainer(), header.join().stage());
    case v1::Header::kHello:
      return keys::WorkerName(header.hello().trainer(), header.hello().stage());
    case v1::Header::kHeartbeat:
      return NameOf(header.heartbeat().speaker());
    case v1::Header::kReport:
      return NameOf(header.report().speaker());
    case v1::Header::kWorkRequest:
      return NameOf(header.work_request().speaker());
    case v1::Header::kLeave:
      return NameOf(header.leave().speaker());
    case v1::Header::kShardReport:
      return keys::ServerName(header.shard_report().shard());
    case v1::Header::kStageForward:
      return keys::WorkerName(header.stage_forward().trainer(),
                              header.stage_forward().from_stage());
    default:
      return {};
  }
}

}  // namespace

Status CheckSpeaker(const PeerName& proved, const v1::Header& header) {
  return proved.empty() ? OkStatus() : CheckSpeaker(proved, SpeakerOf(header));
}

Status CheckSpeaker(const PeerName& proved, const PeerName& speaker) {
  if (proved.empty() || speaker.empty() || speaker == proved) return OkStatus();
  return FailedPrecondition(StrCat("who has the key of ", proved, " may not speak for ", speaker));
}

}  // namespace weir::session
