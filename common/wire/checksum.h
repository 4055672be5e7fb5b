// XXH3 (64 bits, seed 0) of bytes that come in pieces.
//
// Thread rule: thread-compatible.
#pragma once

#include <cstdint>
#include <memory>

#include "common/base/bytes.h"

namespace weir::wire {

// Of bytes that are all there.
uint64_t ChecksumOf(ByteSpan bytes);

class Checksum {
 public:
  Checksum();
  ~Checksum();

  void Append(ByteSpan bytes);
  // Of all so far; more may follow.
  uint64_t value() const;

 private:
  struct State;  // the library's, whose header stays in one file
  std::unique_ptr<State> state_;
};

}  // namespace weir::wire
