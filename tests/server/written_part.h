// A shard's part of a saved model, written at once.
#pragma once

#include <atomic>
#include <string>
#include <utility>

#include "common/base/executor.h"
#include "server/part_sink.h"
#include "server/shard/cut_taker.h"
#include "server/shard/shard.h"

namespace weir::server {

inline Result<v1::PartReport> WritePart(Shard* shard, const std::string& path) {
  std::atomic<uint64_t> written_bytes{0};
  v1::PartReport report;
  PartSink::Part part{.path = path,
                      .row_stage = shard->layout().row_stage(),
                      .least_bytes = PartSink::LeastBytes(*shard),
                      .written_bytes = &written_bytes,
                      .on_done = [&report](v1::PartReport done) { report = std::move(done); }};
  CutTaker taker(Executor::Threads(), [] {});
  taker.Begin(shard, CutForm::kModel, [&] { return PartSink::Open(part); });
  while (taker.is_at_work()) {
    taker.Step();
    shard->WaitIdle();
  }
  WEIR_RETURN_IF_ERROR(taker.outcome());
  return report;
}

}  // namespace weir::server
