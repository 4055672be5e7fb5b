// What strangers who connect ten thousand times a second cost who belongs: what
// tools/measure/measure_flood.py sees of a server and a trainer with keys.

#include "common/base/strings.h"
#include "tools/bench/paired_runs.h"
#include "tools/bench/peer_script.h"
#include "tools/bench/program.h"
#include "tools/bench/sections.h"
#include "tools/bench/temporary_folder.h"

namespace weir::bench {
namespace {

constexpr double kRateGoal = 0.8;
constexpr double kMostMegabytes = 64;
constexpr const char* kKinds[] = {"closing", "failing", "half-open"};

Line MemoryLine(const char* name, double megabytes) {
  return {.name = StrCat("flood/", name),
          .value = megabytes,
          .unit = "MB",
          .peer = "the bound",
          .peer_value = kMostMegabytes,
          .goal = 1,
          .better = Better::kLess};
}

}  // namespace

Result<Lines> BenchFlood(const Options& options) {
  WEIR_ASSIGN_OR_RETURN(const TemporaryFolder folder, TemporaryFolder::Make());
  std::vector<std::string> arguments = {"--json", "--bin=" + BinaryFolder(),
                                        "--out=" + folder.File("flood"),
                                        StrCat("--repeats=", options.repeats)};
  if (options.quick) arguments.insert(arguments.end(), {"--repeats=1", "--window=0.5"});
  WEIR_ASSIGN_OR_RETURN(PeerResult result, RunScript("measure/measure_flood.py", arguments));
  Lines lines;
  for (const std::string kind : kKinds) {
    const double rate = result.values[kind + "/rate"], ratio = result.values[kind + "/ratio"];
    lines.push_back(
        PairedLine(StrCat("flood/", kind), result.peer, rate * ratio, ratio, kRateGoal));
  }
  lines.push_back(MemoryLine("memory", result.values["memory"]));
  lines.push_back(MemoryLine("endless_message", result.values["endless"]));
  return lines;
}

}  // namespace weir::bench
