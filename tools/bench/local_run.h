// One run of weir-local on made-up rows of the paper's shape, perhaps behind a slow link, and what
// it says about itself.
//
// The link is a network namespace of the run's own, whose loopback device lets only so many bits a
// second through, both directions together. It has no name and goes with the run's last process,
// however that ends.
//
// Thread rule: any thread; blocks until the run ends. TrainUntil: a thread that lives as long as
// it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace weir::bench {

struct Link {
  const char* name;  // "1gbit", as tc writes it; null: loopback as it is
  const char* burst = "256kb";
};

// Whether this process may make such links: Unavailable says what is missing.
Status CheckLinks();

struct LocalRun {
  std::string config_files;  // as weir-local takes them, relative to configs/
  std::string policy;        // text of a PolicyRule
  int servers = 1;           // 0: embedded
  int64_t batch_size = 128;
  int64_t rows = 0;
  int64_t test_rows = 1000;
  int64_t evaluate_every_samples = 0;  // 0: only at the end
  Link link = {nullptr};
  std::string device = "cpu";  // the trainer's
  int64_t cached_rows = 0;     // of compression.row_cache, for as long as the run takes
  int64_t table_rows = 100'000;
  std::string more = {};   // text of a config, laid over the files
  bool keeps_log = false;  // the server has a data folder
  bool has_keys = false;   // what is sent is encrypted
};

// A run takes seconds, so three repeats are the most.
inline constexpr int kMaxRunRepeats = 3;

// A checkpoint behind which training went on.
struct CheckpointStop {
  double seconds = 0;  // for which the trainer had nothing to do
  double bytes = 0;    // of the checkpoint; 0 where a later one has taken its place
};

struct LocalResult {
  double samples_per_second = 0, train_seconds = 0;
  double cache_hit_rate = 0;  // 0 without a cache
  // Of the time that was trained, that in which the trainer's device had nothing to do.
  double device_waiting_share = 0;
  std::vector<CheckpointStop> stops;
};

// One scoring of the test rows while a run trains.
struct TestPoint {
  double seconds = 0;  // of training so far, tests apart
  double logloss = 0;
};

// What the run left in its folder. Fails when it did not train every row, or learned nothing.
Result<LocalResult> ReadResult(const LocalRun& run, const std::string& out);

// 1 trainer with 1 thread. Fails when the run does, or did not train every row.
Result<LocalResult> RunLocal(const LocalRun& run);

// The tests of a run that is stopped after the first one that is at or below the logloss, or comes
// after so many seconds of training. Fails when the run ends before.
Result<std::vector<TestPoint>> TrainUntil(const LocalRun& run, double logloss, double seconds);

}  // namespace weir::bench
