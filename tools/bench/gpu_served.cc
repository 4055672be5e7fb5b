// Training on a card with one server on the same machine, beside the same training embedded.

#include <algorithm>
#include <vector>

#include "tools/bench/local_run.h"
#include "tools/bench/measure.h"
#include "tools/bench/sections.h"

namespace weir::bench {
namespace {

// Fifty steps or so, which learn.
LocalRun ServedRun(int servers, const Options& options) {
  LocalRun run{.config_files = "models/dlrm_criteo.textproto",
               .policy = "none {} values: F32",  // nothing is pushed without a server
               .servers = servers,
               .batch_size = 16'384,
               .rows = 800'000,
               .device = options.device};
  if (servers > 0) run.policy = "dct { sparsity: 0.99 lifespan: 1000 } values: BF16";
  if (options.quick) {
    run.config_files = "models/dlrm_tiny.textproto";
    run.batch_size = 128;
    run.rows = 2'000;
  }
  return run;
}

}  // namespace

Result<Lines> BenchGpuServed(const Options& options) {
  std::vector<double> served, embedded;
  for (int repeat = 0; repeat < (options.quick ? 1 : std::min(options.repeats, 2)); ++repeat) {
    WEIR_ASSIGN_OR_RETURN(const LocalResult with_server, RunLocal(ServedRun(1, options)));
    WEIR_ASSIGN_OR_RETURN(const LocalResult without, RunLocal(ServedRun(0, options)));
    served.push_back(with_server.samples_per_second);
    embedded.push_back(without.samples_per_second);
  }
  return Lines{{.name = "gpu/served/dct_99",
                .value = Median(served),
                .unit = "samples/s",
                .peer = "the same training embedded",
                .peer_value = Median(embedded)}};
}

}  // namespace weir::bench
