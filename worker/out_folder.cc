#include "worker/out_folder.h"

#include <filesystem>
#include <fstream>
#include <system_error>

#include "common/base/file_writer.h"
#include "common/base/strings.h"
#include "common/config/load_config.h"

namespace weir::worker {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConfigName = "config.textproto";
constexpr const char* kSummaryName = "summary.json";

// The first line of the config that is written down, a comment.
std::string RunLine(uint64_t run) { return StrCat("# run ", run); }

}  // namespace

Result<std::unique_ptr<OutFolder>> OutFolder::Claim(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return Unavailable(StrCat("--out: cannot make ", path, ": ", error.message()));
  WEIR_ASSIGN_OR_RETURN(auto log, metrics::MetricsLog::Claim(path));
  return std::unique_ptr<OutFolder>(new OutFolder(path, std::move(log)));
}

Result<std::unique_ptr<metrics::MetricsLog>> OutFolder::Begin(const v1::Config& config,
                                                              uint64_t run) {
  if (run != 0 && IsOf(run)) {
    WEIR_RETURN_IF_ERROR(log_->GoOn());
    return std::move(log_);
  }
  // The result of an earlier run must not be taken for this one's.
  std::error_code error;
  fs::remove(fs::path(path_) / kSummaryName, error);
  if (error) return Unavailable(StrCat("--out: cannot replace summary.json: ", error.message()));
  WEIR_RETURN_IF_ERROR(log_->Begin());
  const std::string first = run == 0 ? "" : RunLine(run) + "\n";
  WEIR_RETURN_IF_ERROR(
      ReplaceFile(StrCat(path_, "/", kConfigName), first + config::ToText(config)));
  return std::move(log_);
}

bool OutFolder::IsOf(uint64_t run) const {
  std::ifstream file(fs::path(path_) / kConfigName, std::ios::binary);
  std::string line;
  return std::getline(file, line) && line == RunLine(run);
}

}  // namespace weir::worker
