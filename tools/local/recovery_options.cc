#include "tools/local/recovery_options.h"

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "common/base/strings.h"
#include "tools/local/kill_plan.h"

namespace weir::tools {
namespace {

constexpr int kMostRestarts = 1000;

}  // namespace

std::vector<std::string> RecoveryMistakes(const LocalOptions& options) {
  std::vector<std::string> mistakes;
  std::error_code ignored;
  const std::string& folder = options.data_directory;
  if (options.most_restarts < 0 || options.most_restarts > kMostRestarts) {
    mistakes.push_back(
        StrCat("--restart=", options.most_restarts, ": must be from 0 to ", kMostRestarts));
  }
  if (IsEmbedded(options) && !folder.empty()) {
    mistakes.emplace_back("--data_dir: without servers there is nothing to keep; leave it out");
  } else if (std::filesystem::exists(folder, ignored) &&
             !std::filesystem::is_directory(folder, ignored)) {
    mistakes.push_back(StrCat("--data_dir=", folder, ": is not a directory"));
  }
  if (IsEmbedded(options) && options.most_restarts > 0) {
    mistakes.emplace_back(
        "--restart: without servers a worker that is started again begins anew; leave it out");
  }
  std::ranges::move(KillMistakes(options), std::back_inserter(mistakes));
  return mistakes;
}

std::vector<std::string> DurabilityMistakes(const LocalOptions& options,
                                            const v1::ClusterConfig& cluster) {
  if (IsEmbedded(options)) return {};
  const bool is_none = cluster.durability() == v1::NONE;
  if (is_none && !options.data_directory.empty()) {
    return {
        "--data_dir: cluster.durability is NONE, so nothing would be kept there; choose PROCESS or "
        "MACHINE"};
  }
  if (!is_none && options.data_directory.empty()) {
    return {StrCat("cluster.durability is ", v1::Durability_Name(cluster.durability()),
                   ": give --data_dir, a folder for the logs of all servers")};
  }
  return {};
}

}  // namespace weir::tools
