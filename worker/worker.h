// A worker process, or an embedded run: fetches work from the coordinator, reads it, gives it to
// the Hogwild threads, reports what was done, and writes metrics and the summary.
//
// Place in the life of a batch: **lease -> read -> parse** -> trainer ... -> **completion**.
// Thread rule: Run on one thread (the input thread); Interrupt from any thread, not from a signal
// handler. Borrows reader and client.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/kernels/compute.h"
#include "common/layout/model_layout.h"
#include "common/metrics/metrics_log.h"
#include "common/proto/config.pb.h"
#include "common/proto/learned.pb.h"
#include "common/proto/protocol.pb.h"
#include "common/saved_model/writer.h"
#include "worker/checkpoint_share.h"
#include "worker/client/parameter_client.h"
#include "worker/data/reader.h"
#include "worker/row_watch.h"
#include "worker/step/batch_trainer.h"
#include "worker/step/chunk_work.h"

namespace weir::worker {

struct WorkerOptions {
  int threads = 1;
  std::optional<kernels::Compute> compute = {};  // the CPU's, where it is not said
  std::string out_directory;                     // "": write nothing; else with a log there
  std::string commit;                            // of which this program is built, for the summary
  std::unique_ptr<metrics::MetricsLog> log;
  bool show_progress = false;           // a line on stdout at every report
  saved_model::Writer* save = nullptr;  // takes the model when the run is over
  std::string checkpoints = {};         // folder of the run's checkpoints; empty: there are none
  CheckpointWishes* checkpoint_wishes = nullptr;  // outlives the worker; may be null
  v1::LearnedColumns learned;                     // by the reader
  v1::RuleStarts rule_starts;                     // of the run, for the saved model
  uint64_t run = 0;                               // tells it from others; 0: embedded
  std::vector<std::string> notices;  // what was noticed so far, for whoever started the run
  // Of a worker that runs a stage: which, and what makes its threads; on_failure as Trainer has it.
  std::optional<uint32_t> stage = {};
  std::function<std::unique_ptr<BatchTrainer>(std::function<void(const Status&)> on_failure)>
      make_trainer = {};
};

class Worker {
 public:
  Worker(const v1::Config& config, const ModelLayout& layout, WorkerOptions options,
         data::Reader* reader, ParameterClient* client);
  ~Worker();

  // Until the run is over: its report. Whatever fails is also told to the coordinator.
  Result<v1::RunReport> Run();
  // Afterwards: the run has ended well, whether or not this worker could write all that it was to.
  bool has_concluded() const { return has_concluded_; }

  void Interrupt();

 private:
  // What was read of a split.
  struct SplitLines {
    uint64_t count = 0;
    uint64_t malformed = 0;
    std::string first_problem;
    // Over the split, since this worker's first one: how often a line may have been counted.
    std::optional<uint32_t> first_pass;
    uint64_t passes = 1;

    void TakePass(uint32_t pass);
  };

  Result<v1::RunReport> TrainOrRunOut();
  Result<v1::RunReport> Train();
  Result<v1::RunReport> RunLoop();
  Status TakeCheckpoint(uint64_t number);
  void TellStop(const v1::RunProgress& progress);
  void TakePlace(const v1::WorkReply& reply);
  void TakeConcurrency(uint32_t concurrency);
  Status TakeLease(const v1::ChunkLease& lease);
  Status TellNext(const v1::ChunkLease& lease);
  Status Refresh(const v1::ChunkLease& lease);
  Status FinishOldest();
  SplitLines& LinesOf(data::Split split) {
    return split == data::Split::kTrain ? train_lines_ : test_lines_;
  }
  Status CheckMalformed(data::Split split);
  Status CheckScores(const ChunkWork& chunk);
  // What was read and noticed of it.
  void FillInputReport(v1::WorkerReport* report) const;
  // Once, whoever found it out.
  void Warn(const std::string& warning);
  static void AddCompletion(const ChunkWork& chunk, v1::WorkRequest* request,
                            std::vector<Bytes>* scores);
  v1::WorkRequest MakeRequest(std::vector<Bytes>* scores);
  bool IsReportDue() const;
  Status Report();
  Result<v1::RunReport> ReportLast();
  v1::Report MakeReport();
  void ShowTraining(double seconds, const v1::WorkerReport& sum, uint64_t total_samples);
  void ShowEvaluations(const v1::RunProgress& progress);
  void Log(const std::function<Status(metrics::MetricsLog*)>& write);
  Result<v1::RunReport> Conclude(const v1::RunProgress& progress);
  Status Save();
  void TellSaved();
  void Fail(const Status& status);
  bool HasFailed() const;
  void StopTrainer();

  const v1::Config& config_;
  const ModelLayout& layout_;
  const WorkerOptions options_;
  data::Reader* const reader_;
  ParameterClient* const client_;
  const kernels::Compute compute_;
  std::unique_ptr<BatchTrainer> trainer_;

  std::deque<std::shared_ptr<ChunkWork>> at_work_;    // in the order they were added
  std::vector<std::shared_ptr<ChunkWork>> finished_;  // not reported yet
  std::vector<v1::FileEnd> file_ends_;                // not reported yet
  uint32_t known_evaluations_ = 0;
  Status log_failure_;  // the first
  bool has_concluded_ = false;
  std::optional<uint32_t> refreshed_for_;  // evaluations before the one it was refreshed for
  SplitLines train_lines_, test_lines_;
  RowWatch row_watch_;
  const std::vector<std::string> notices_;  // of the options, as reports have them
  CheckpointShare checkpoint_;
  std::set<std::string> told_warnings_;
  int64_t next_report_ms_ = 0;
  int64_t next_line_ms_ = 0;             // of the log
  std::optional<double> bayes_logloss_;  // of synthetic test rows
  uint64_t last_shown_samples_ = 0;

  mutable Mutex mutex_;  // the input thread holds it to change trainer_, too
  Status failure_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir::worker
