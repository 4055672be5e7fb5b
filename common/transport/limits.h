// How large messages may be, and how many of them may wait.
//
// Thread rule: a value.
#pragma once

#include <cstdint>
#include <optional>

namespace weir::transport {

// Many more than any message of ours has. Each part costs its receiver some 100 bytes beside its
// own, so the limit of bytes alone would let a message of empty parts take all memory.
inline constexpr int64_t kMaxMessageParts = 65'536;

// A message above either of the first two never reaches a receiver.
struct Limits {
  int64_t max_message_bytes = int64_t{1} << 30;
  // What a peer that was not welcomed may send of one message before its connection is ended.
  // Without, nobody is welcomed and what of messages has come is not watched: each part is bounded,
  // and a message once it is whole.
  std::optional<int64_t> max_stranger_bytes = {};
  int64_t max_message_parts = kMaxMessageParts;
  // Per connection and direction: more than a worker may have under way, row pulls above all, which
  // come all at once when a connection was made again. Their bytes are bounded by who asks.
  int queue_messages = 20'000;
};

}  // namespace weir::transport
