#include "tools/local/local_run.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "common/base/strings.h"
#include "common/config/load_config.h"
#include "common/saved_model/writer.h"
#include "tools/keygen/make_keys.h"
#include "tools/local/checkpoint_options.h"
#include "tools/local/commands.h"
#include "tools/local/end_report.h"
#include "tools/local/output_directory.h"
#include "tools/local/ports.h"
#include "tools/local/progress.h"
#include "tools/local/residuals.h"
#include "tools/local/supervisor.h"

namespace weir::tools {
namespace {

// 0 when standard error is no terminal.
int TerminalColumns() {
  constexpr int kUsualColumns = 80;
  winsize size = {};
  if (isatty(STDERR_FILENO) == 0) return 0;
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return known ? size.ws_col : kUsualColumns;
}

// 0 when only reading the data would tell.
int64_t TotalSamples(const v1::DataConfig& data) {
  return data.has_synthetic() ? data.synthetic().rows() * data.epochs() : 0;
}

Status Finish(const LocalOptions& options) {
  const OutputDirectory out(options.out_directory);
  WEIR_ASSIGN_OR_RETURN(const auto summary, out.Collect(options.trainer_count));
  WEIR_ASSIGN_OR_RETURN(const std::string report, EndReport(summary));
  std::cout << "done: " << CountText(options) << "\n"
            << report << "  files   " << out.SummaryPath() << ", " << out.RunMetricsPath() << ", "
            << out.LogDirectory() << "/\n";
  return OkStatus();
}

SupervisorOptions Supervising(const LocalOptions& options, const v1::Config& config) {
  SupervisorOptions supervising;  // a late trainer is stopped before it gives up by itself
  supervising.late_timeout_ms =
      std::min<int64_t>(supervising.late_timeout_ms, config.cluster().connect_timeout_ms() / 2);
  supervising.restarts = {.most = options.most_restarts,
                          .servers_go_on = !options.data_directory.empty()};
  supervising.kill_after = options.kill_after;
  supervising.has_checkpoints = !options.checkpoint_directory.empty();
  return supervising;
}

Status MakeDataDirectories(const LocalOptions& options) {
  if (options.data_directory.empty()) return OkStatus();
  for (int shard = 0; shard < options.server_count; ++shard) {
    WEIR_RETURN_IF_ERROR(MakeDirectory(ServerDataDirectory(options, shard)));
  }
  return OkStatus();
}

Status MakeMissingKeys(const LocalOptions& options) {
  if (options.keys_directory.empty()) return OkStatus();
  std::ostringstream said;
  return MakeKeys(options.keys_directory,
                  {.servers = static_cast<uint32_t>(options.server_count),
                   .trainers = static_cast<uint32_t>(options.trainer_count),
                   .stages = static_cast<uint32_t>(options.stage_count),
                   .mends = true},
                  said);
}

}  // namespace

Status RunLocally(const LocalOptions& options, const v1::Config& config) {
  const OutputDirectory out(options.out_directory);
  WEIR_ASSIGN_OR_RETURN(auto claim, out.Prepare(options.trainer_count, config::ToText(config)));
  WEIR_RETURN_IF_ERROR(MakeDataDirectories(options));
  WEIR_RETURN_IF_ERROR(MakeMissingKeys(options));
  WEIR_ASSIGN_OR_RETURN(const std::vector<HeldPort> ports,
                        HoldLoopbackPorts(options.server_count, options.base_port));

  Progress progress(out.MetricsPath(0), TotalSamples(config.data()),
                    Display{std::cerr, TerminalColumns()}, Clock::Real());
  Residuals residuals(options);
  std::vector<std::string> notices = residuals.Losses(config);
  if (std::string resumed = DescribeResumed(options); !resumed.empty()) {
    notices.push_back(std::move(resumed));
  }
  if (!options.save_directory.empty()) {
    const std::string left = saved_model::DescribeLeftAside(options.save_directory);
    if (!left.empty()) notices.push_back(left);
  }
  Supervisor supervisor(
      Supervising(options, config), [&progress] { progress.Update(); },
      [&progress](const std::string& line) { progress.Notice(line); });
  progress.Notice(StrCat("starting ", CountText(options), "; logs in ", out.LogDirectory(), "/"));
  for (const std::string& notice : notices) progress.Notice(notice);
  const Status ending =
      supervisor.Run(RunCommands(options, LoopbackAddresses(ports), residuals.folder()));
  progress.Finish();
  if (ending.ok()) claim.earlier.Forget();
  std::string missing;
  const Status moved = residuals.Move(&missing);
  if (!missing.empty()) progress.Notice(missing);
  if (!ending.ok() && residuals.HasModelCome()) {
    progress.Notice(StrCat("the model in ", options.save_directory,
                           " is this run's all the same: all of it was trained and saved"));
  }
  // Each is worth having without the others.
  return Joined(ending.ok() ? Finish(options) : ending, moved);
}

}  // namespace weir::tools
