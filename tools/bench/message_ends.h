// Two ends that exchange messages over tcp on this machine: what the transport section compares.
// One pair is raw libzmq, the other common/transport; both carry the same payloads.
//
// Thread rule: each end belongs to one thread at a time; payloads are immutable.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "common/base/bytes.h"
#include "common/base/status.h"
#include "common/transport/message.h"

namespace weir::bench {

// Random bytes. Sent from where they are, by both: neither is charged for making them.
struct Payload {
  Payload(size_t byte_count, uint64_t seed);
  transport::Part part;
};

class MessageEnd {
 public:
  virtual ~MessageEnd() = default;

  virtual Status Send(const Payload& payload) = 0;

  // Waits. The payload, until the next call; nothing after kGiveUpMs.
  virtual std::optional<ByteSpan> Receive() = 0;
};

// A silent end is a failure of the benchmark, not a slow peer.
inline constexpr int kGiveUpMs = 10'000;

// The server answers whoever sent the last message it received; the client speaks first.
struct MessageEnds {
  std::unique_ptr<MessageEnd> client;
  std::unique_ptr<MessageEnd> server;
};

// DEALER and ROUTER with the options they have by themselves, a context each; one frame a message.
Result<MessageEnds> MakeRawZmqEnds();

// As worker and server use it: a small header part before the payload.
Result<MessageEnds> MakeTransportEnds();

// The same with keys.
Result<MessageEnds> MakeSecuredEnds();

}  // namespace weir::bench
