// One short run of weir-local on made-up rows of the paper's shape, perhaps behind a slow link, and
// what it says about itself.
//
// The link is a network namespace of the run's own, whose loopback device lets only so many bits a
// second through, both directions together. It has no name and goes with the run's last process,
// however that ends.
//
// Thread rule: any thread; blocks until the run ends.
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
  int64_t evaluate_every_samples = 0;
  Link link = {nullptr};
};

struct LocalResult {
  double samples_per_second = 0;
  struct Test {
    double samples = 0;  // trained so far
    double logloss = 0;
  };
  std::vector<Test> tests;  // as they were made; the last one at the end
};

// 1 trainer with 1 thread. Fails when the run does, or did not train every row.
Result<LocalResult> RunLocal(const LocalRun& run);

}  // namespace weir::bench
