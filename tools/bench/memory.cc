// Whether the processes of a long run keep their memory: what tools/measure/measure_memory.py sees
// of a server and two trainers.

#include "common/base/strings.h"
#include "tools/bench/peer_script.h"
#include "tools/bench/program.h"
#include "tools/bench/sections.h"
#include "tools/bench/temporary_folder.h"

namespace weir::bench {
namespace {

constexpr double kGoal = 1 / 1.02;
constexpr const char* kProcesses[] = {"weir-server-0", "weir-worker-0", "weir-worker-1"};

}  // namespace

Result<Lines> BenchMemory(const Options& options) {
  WEIR_ASSIGN_OR_RETURN(const TemporaryFolder folder, TemporaryFolder::Make());
  std::vector<std::string> arguments = {"--json", "--bin=" + BinaryFolder(),
                                        "--out=" + folder.File("run"), "--steps=200000"};
  if (options.quick) arguments.insert(arguments.end(), {"--steps=20000", "--warm_up=0.5"});
  WEIR_ASSIGN_OR_RETURN(PeerResult result, RunScript("measure/measure_memory.py", arguments));
  Lines lines;
  for (const std::string process : kProcesses) {
    lines.push_back({.name = StrCat("memory/", process),
                     .value = result.values[process + "/largest"],
                     .unit = "MB",
                     .peer = result.peer,
                     .peer_value = result.values[process + "/smallest"],
                     .goal = kGoal,
                     .better = Better::kLess});
  }
  return lines;
}

}  // namespace weir::bench
