// Training on a card with one server on the same machine, beside the same training embedded: all
// rows from the server, and with those kept on the card that it has had, at three hit rates.

#include <string>

#include "common/base/strings.h"
#include "tools/bench/local_run.h"
#include "tools/bench/sections.h"

namespace weir::bench {
namespace {

// All rows are kept; those of larger tables are met for the first time more often. How often a row
// was there is a line.
struct Tables {
  const char* name;
  int64_t rows;  // of a table
};
constexpr Tables kTables[] = {{"100", 200}, {"95", 11'000}, {"90", 35'000}};
constexpr int64_t kCachedRows = 2'000'000;

// A hundred steps or so, which learn.
LocalRun ServedRun(int servers, const Options& options) {
  LocalRun run{.config_files = "models/dlrm_criteo.textproto",
               .policy = "none {} values: F32",  // nothing is pushed without a server
               .servers = servers,
               .batch_size = 16'384,
               .rows = 1'600'000,
               .device = options.device};
  if (servers > 0) run.policy = "dct { sparsity: 0.99 lifespan: 1000 } values: BF16";
  if (options.quick) {
    run.config_files = "models/dlrm_tiny.textproto";
    run.batch_size = 128;
    run.rows = 2'000;
  }
  return run;
}

Line Percent(const std::string& name, double share) {
  return {.name = name, .value = 100 * share, .unit = "%"};
}

// How fast, how much of a step the card has nothing to do, and how often a row was there.
void AddLines(const std::string& name, const LocalResult& served, double embedded, Lines* lines) {
  lines->push_back({.name = name,
                    .value = served.samples_per_second,
                    .unit = "samples/s",
                    .peer = "the same training embedded",
                    .peer_value = embedded});
  lines->push_back(Percent(name + "/card_waits", served.device_waiting_share));
}

}  // namespace

Result<Lines> BenchGpuServed(const Options& options) {
  WEIR_ASSIGN_OR_RETURN(const LocalResult embedded, RunLocal(ServedRun(0, options)));
  Lines lines;
  WEIR_ASSIGN_OR_RETURN(const LocalResult uncached, RunLocal(ServedRun(1, options)));
  AddLines("gpu/served/dct_99", uncached, embedded.samples_per_second, &lines);
  lines.push_back(Percent("gpu/served/embedded/card_waits", embedded.device_waiting_share));
  for (const Tables& tables : kTables) {
    LocalRun run = ServedRun(1, options);
    run.cached_rows = kCachedRows;
    run.table_rows = tables.rows;
    WEIR_ASSIGN_OR_RETURN(const LocalResult cached, RunLocal(run));
    const std::string name = StrCat("gpu/served/hits_", tables.name);
    AddLines(name, cached, embedded.samples_per_second, &lines);
    lines.push_back(Percent(name + "/hit_rate", cached.cache_hit_rate));
  }
  return lines;
}

}  // namespace weir::bench
