// One stretch of traffic between two ends: so many requests, a reply to each, never more than a
// window of them without one; and the check that every one arrived as it was sent.
//
// Thread rule: RunExchange takes the caller's thread for the client and starts one for the server.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tools/bench/message_ends.h"

namespace weir::bench {

// Requests and replies take these payloads in turns, so that a lost one is noticed.
using Payloads = std::vector<Payload>;
Payloads MakePayloads(size_t byte_count);

struct Exchange {
  const Payloads* requests = nullptr;
  const Payloads* replies = nullptr;
  int64_t count = 0;
  int64_t window = 1;
  bool compare_all = false;  // every byte; else the size and some bytes of each
};

// seconds: from the first request to the last reply. waits: of each reply since the request before
// it left, in seconds; meaningful for a window of 1.
struct ExchangeTimes {
  double seconds = 0;
  std::vector<double> waits;
};

Result<ExchangeTimes> RunExchange(const MessageEnds& ends, const Exchange& exchange);

using MakeEnds = Result<MessageEnds> (*)();

// Between new ends, warmed up: two pairs of raw ends differ by up to a fifth for as long as they
// live, by where their threads and buffers happen to be.
Result<ExchangeTimes> RunBetweenNew(MakeEnds make_ends, const Exchange& exchange);

// The median over so many turns of what one exchange gives, between our ends and a peer's.
struct BothEnds {
  double ours = 0;
  double peers = 0;
};
Result<BothEnds> CompareEnds(MakeEnds ours, MakeEnds peers, const Exchange& exchange, int turns,
                             const std::function<double(const ExchangeTimes&)>& value);

}  // namespace weir::bench
