// What every implementation asks of a message before it queues it, and of one that arrives.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <iterator>

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

inline bool IsWithin(const Limits& limits, const Message& message) {
  return PayloadBytes(message) <= limits.max_message_bytes &&
         std::ssize(message.parts) <= limits.max_message_parts;
}

// FailedPrecondition for a message above the limits: the receiver would end the connection, and a
// replay would end it again, for ever.
inline Status CheckOutgoing(const Message& message, const Limits& limits) {
  CHECK(!message.parts.empty()) << "a message has at least one part";
  if (IsWithin(limits, message)) return OkStatus();
  if (std::ssize(message.parts) > limits.max_message_parts) {
    return FailedPrecondition(StrCat("a message of ", message.parts.size(),
                                     " parts is above the limit of ", limits.max_message_parts,
                                     " parts; put more into each part, or send several messages"));
  }
  return FailedPrecondition(StrCat("a message of ", PayloadBytes(message),
                                   " bytes is above the limit of ", limits.max_message_bytes,
                                   " bytes (max_message_bytes)"));
}

inline void CheckLimits(const Limits& limits) {
  CHECK_GT(limits.max_message_bytes, 0);
  CHECK_GT(limits.max_message_parts, 0);
  CHECK_GT(limits.max_stranger_bytes.value_or(1), 0);
  CHECK_GT(limits.queue_messages, 0);
}

}  // namespace weir::transport
