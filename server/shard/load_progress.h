// How far a server is with making or loading its parameters, as others are told of it, and whether
// anybody still wants them.
//
// Place in the life of a batch: before the first.
// Thread rule: any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "common/proto/protocol.pb.h"

namespace weir::server {

class LoadProgress {
 public:
  // Before anything is done.
  void Expect(uint64_t bytes) { total_bytes_ += bytes; }
  void Add(uint64_t bytes) { done_bytes_ += bytes; }

  // Whoever loads looks at it often, and stops.
  void Cancel() { is_cancelled_ = true; }
  bool is_cancelled() const { return is_cancelled_; }

  v1::Loading ToProto() const {
    v1::Loading loading;
    loading.set_done_bytes(done_bytes_);
    loading.set_total_bytes(total_bytes_);
    return loading;
  }

 private:
  std::atomic<uint64_t> done_bytes_{0};
  std::atomic<uint64_t> total_bytes_{0};
  std::atomic<bool> is_cancelled_{false};
};

}  // namespace weir::server
