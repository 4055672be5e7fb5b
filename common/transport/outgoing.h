// What every implementation asks of a message before it queues it.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>

#include "common/base/check.h"
#include "common/base/status.h"
#include "common/base/strings.h"
#include "common/transport/transport.h"

namespace weir::transport {

inline int64_t PayloadBytes(const Message& message) {
  int64_t total = 0;
  for (const Part& part : message.parts) total += static_cast<int64_t>(part.size());
  return total;
}

// FailedPrecondition for a message above max_message_bytes: the receiver would end the connection,
// and a replay would end it again, for ever.
inline Status CheckOutgoing(const Message& message, const Limits& limits) {
  CHECK(!message.parts.empty()) << "a message has at least one part";
  const int64_t total = PayloadBytes(message);
  if (total <= limits.max_message_bytes) return OkStatus();
  return FailedPrecondition(StrCat("a message of ", total, " bytes is above the limit of ",
                                   limits.max_message_bytes, " bytes (max_message_bytes)"));
}

inline void CheckLimits(const Limits& limits) {
  CHECK_GT(limits.max_message_bytes, 0);
  CHECK_GT(limits.queue_messages, 0);
}

}  // namespace weir::transport
