// How many of a worker's pushes are durable: those whose records of the log are.
//
// Place in the life of a batch: push -> number -> log -> **durable** -> the worker forgets it.
// Thread rule: I/O thread only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <utility>

namespace weir::server {

class DurableSequence {
 public:
  // All up to this one, from another life of the server.
  void Begin(uint64_t sequence) { sequence_ = sequence; }
  // A push of this sequence is in the log, as this record.
  void Add(uint64_t number, uint64_t sequence) { pending_.emplace_back(number, sequence); }
  // Records up to this one are durable. Whether more of the pushes are.
  bool Reach(uint64_t number) {
    const uint64_t before = sequence_;
    for (; !pending_.empty() && pending_.front().first <= number; pending_.pop_front()) {
      sequence_ = std::max(sequence_, pending_.front().second);
    }
    return sequence_ > before;
  }
  uint64_t sequence() const { return sequence_; }

 private:
  std::deque<std::pair<uint64_t, uint64_t>> pending_;  // record, sequence
  uint64_t sequence_ = 0;
};

}  // namespace weir::server
