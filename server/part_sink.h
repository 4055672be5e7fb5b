// A server's part of a saved model as it comes to be, section after section, so that no more than
// one is in memory, whatever the part has.
//
// Place in the life of a batch: beside all of it, and after the last one.
// Thread rule: in the background (server/shard/cut_taker.h); written_bytes from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "common/base/status.h"
#include "common/proto/protocol.pb.h"
#include "common/saved_model/parts.h"
#include "server/shard/cut_taker.h"

namespace weir::server {

class PartSink final : public CutSink {
 public:
  struct Part {
    std::string path;
    uint32_t row_stage = 0;
    uint64_t least_bytes = 0;  // for which there must be room
    std::atomic<uint64_t>* written_bytes = nullptr;
    // What is on disk in the end.
    std::function<void(v1::PartReport)> on_done = {};
  };
  static Result<std::unique_ptr<CutSink>> Open(Part part);
  // Of a shard's part: rows and weights, without what update rules keep.
  static uint64_t LeastBytes(const Shard& shard);
  // Takes away what was not finished.
  ~PartSink() override;

  Status Append(Bytes section) override;
  Status Finish(const CutSummary& summary) override;

 private:
  PartSink(Part part, std::unique_ptr<saved_model::PartWriter> writer)
      : part_(std::move(part)), writer_(std::move(writer)) {}

  const Part part_;
  const std::unique_ptr<saved_model::PartWriter> writer_;
  bool is_finished_ = false;
};

}  // namespace weir::server
