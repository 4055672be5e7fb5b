// What it costs that what is sent is encrypted: one server and one trainer of one thread on this
// machine, with keys, beside the same run without; and what it costs a message.

#include "tools/bench/paired_runs.h"
#include "tools/bench/sections.h"
#include "tools/bench/secured_messages.h"

namespace weir::bench {
namespace {

constexpr double kDctGoal = 0.9, kNoneGoal = 0.85;

// The model's file, some seconds of batches of 128.
LocalRun RunOf(const char* policy, int64_t rows, bool has_keys, bool quick) {
  LocalRun run{.config_files = "models/dlrm_criteo.textproto",
               .policy = policy,
               .rows = rows,
               .has_keys = has_keys};
  if (!quick) return run;
  run.config_files = "models/dlrm_tiny.textproto";
  run.rows = 2'000;
  return run;
}

}  // namespace

Result<Lines> BenchSecurity(const Options& options) {
  constexpr const char* kDct99 = "dct { sparsity: 0.99 lifespan: 1000 } values: BF16";
  const std::vector<LocalRun> runs = {RunOf(kDct99, 300'000, false, options.quick),
                                      RunOf(kDct99, 300'000, true, options.quick),
                                      RunOf("none {}", 40'000, false, options.quick),
                                      RunOf("none {}", 40'000, true, options.quick)};
  WEIR_ASSIGN_OR_RETURN(const auto turns, MeasureTurns(runs, options.repeats));
  WEIR_ASSIGN_OR_RETURN(Lines lines, MeasureSecuredMessages(options));
  lines.push_back(PairedLine("security/dct_99", "without keys", turns, 1, 0, kDctGoal));
  lines.push_back(PairedLine("security/none", "without keys", turns, 3, 2, kNoneGoal));
  return lines;
}

}  // namespace weir::bench
