#include "tools/local/output_directory.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include "common/base/file_writer.h"
#include "common/base/strings.h"

namespace weir::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSummaryName = "summary.json";

std::optional<std::string> ReadWhole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

Status Remove(const fs::path& path) {
  std::error_code error;
  fs::remove(path, error);
  if (!error) return OkStatus();
  return Unavailable(
      StrCat("cannot remove ", path.string(), " of an earlier run: ", error.message()));
}

}  // namespace

Status MakeDirectory(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (!error) return OkStatus();
  return Unavailable(StrCat("cannot make the directory ", path, ": ", error.message()));
}

std::string OutputDirectory::LogPath(const std::string& process_name) const {
  return StrCat(LogDirectory(), "/", process_name, ".log");
}

std::string OutputDirectory::TrainerPath(int trainer) const {
  return StrCat(path_, "/trainer-", trainer);
}

Result<OutputDirectory::Claim> OutputDirectory::Prepare(int trainer_count,
                                                        const std::string& config_text) const {
  WEIR_RETURN_IF_ERROR(MakeDirectory(LogDirectory()));
  WEIR_ASSIGN_OR_RETURN(DirectoryLock lock, DirectoryLock::Take(path_));
  WEIR_ASSIGN_OR_RETURN(EarlierResults earlier, EarlierResults::SetAside(path_));
  WEIR_RETURN_IF_ERROR(RemoveEarlierLogs());
  for (int trainer = 0; trainer < trainer_count; ++trainer) {
    WEIR_RETURN_IF_ERROR(MakeDirectory(TrainerPath(trainer)));
  }
  WEIR_RETURN_IF_ERROR(ReplaceFile(ConfigPath(), config_text));
  return Claim{std::move(lock), std::move(earlier)};
}

Status OutputDirectory::RemoveEarlierLogs() const {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(LogDirectory(), error)) {
    if (entry.path().extension() == ".log") WEIR_RETURN_IF_ERROR(Remove(entry.path()));
  }
  return OkStatus();
}

Result<std::string> OutputDirectory::Collect(int trainer_count) const {
  for (int trainer = 0; trainer < trainer_count; ++trainer) {
    auto summary = ReadWhole(StrCat(TrainerPath(trainer), "/", kSummaryName));
    if (!summary) continue;
    WEIR_RETURN_IF_ERROR(
        ReplaceFile(RunMetricsPath(), ReadWhole(MetricsPath(trainer)).value_or("")));
    WEIR_RETURN_IF_ERROR(ReplaceFile(SummaryPath(), *summary));
    return *std::move(summary);
  }
  return NotFound(StrCat("all processes ended well, but no trainer wrote ", TrainerPath(0), "/",
                         kSummaryName, "; their logs are in ", LogDirectory()));
}

}  // namespace weir::tools
