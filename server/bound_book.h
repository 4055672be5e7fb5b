// What a server has scaled down of trainers' pushes (server/shard/norm_bound.h): a line in its log
// at the first of a trainer, and at most one a second of each; and counts for the run's report.
// Trainers are not asked: who has stolen the secret of one says what it likes.
//
// Place in the life of a batch: decode -> bound -> apply -> **count** -> answer.
// Thread rule: I/O thread only, but for Fill, which is for any.
#pragma once

#include <cstdint>
#include <map>

#include "common/base/mutex.h"
#include "common/base/rare_lines.h"
#include "common/proto/report.pb.h"
#include "server/shard/pending.h"

namespace weir::server {

class BoundBook {
 public:
  // Of a push; nothing where nothing was.
  void Add(uint32_t trainer, const BoundedParts& parts);
  // Now and then: tells what was not told at once.
  void Tick() { lines_.WarnOfCounted(); }
  // By trainer, of this life of the server, in the place of what is there.
  void Fill(google::protobuf::RepeatedPtrField<v1::BoundedReport>* reports) const;

 private:
  RareWarnings lines_;
  mutable Mutex mutex_;
  std::map<uint32_t, v1::BoundedReport> trainers_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir::server
