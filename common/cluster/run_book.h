// What a run's workers have done, counted and scored, in one place for whoever takes their words:
// the coordinator of many, or an embedded worker for itself.
//
// Place in the life of a batch: the very beginning (**lease**) and the very end.
// Thread rule: owner thread only.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/base/executor.h"
#include "common/base/status.h"
#include "common/cluster/evaluator.h"
#include "common/cluster/membership.h"
#include "common/cluster/report_book.h"
#include "common/cluster/run_director.h"
#include "common/eval/scores.h"
#include "common/proto/config.pb.h"
#include "common/proto/protocol.pb.h"

namespace weir::cluster {

// Of a run, what its final report says and no worker counts.
struct RunFacts {
  std::string mode;  // async, embedded
  std::string config_hash;
  uint32_t servers = 0;
  bool goes_on = false;  // from a saved model
  google::protobuf::RepeatedPtrField<v1::BoundedReport> bounded = {};
};

class RunBook {
 public:
  // config: valid, with defaults filled in; outlives the book. executor: computes what many test
  // scores come to.
  RunBook(const v1::Config& config, RunFacts facts, Executor& executor = Executor::Threads());

  RunDirector& director() { return director_; }
  ReportBook& reports() { return reports_; }
  void SetGoesOn() { facts_.goes_on = true; }
  // Of trainers whose pushes servers have scaled down.
  void SetBounded(google::protobuf::RepeatedPtrField<v1::BoundedReport> bounded) {
    facts_.bounded = std::move(bounded);
  }

  // All that a request for work tells. scores: of its completions, in their order.
  void TakeWork(const v1::WorkRequest& request, Seat seat, std::vector<eval::Scores> scores,
                int64_t now_ms);
  // Computes what test scores come to; those of many rows are there later.
  void StepEvaluation(int64_t now_ms);

  // What the sender of a report is told, once that is in the book.
  v1::ReportReply ReplyTo(const v1::Report& report, uint32_t trainers, int64_t now_ms);

  void SaveChanges(SavedParts* parts);
  Status Load(PartSource* source);
  // After Load, of a checkpoint: what others have counted stays, and they are gone.
  void BeginAnew();

 private:
  v1::RunReport FinalReport(uint32_t trainers, int64_t now_ms);

  const v1::Config& config_;
  RunFacts facts_;
  RunDirector director_;
  ReportBook reports_;
  Evaluator evaluator_;
};

}  // namespace weir::cluster
