#include "tools/local/output_directory.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "common/base/strings.h"

namespace weir::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSummaryName = "summary.json";
constexpr const char* kMetricsName = "metrics.jsonl";

// Written aside and renamed: a reader sees all of it or none.
Status WriteWhole(const std::string& path, const std::string& text) {
  const std::string aside = path + ".part";
  std::ofstream file(aside, std::ios::binary);
  file << text;
  file.close();
  std::error_code error;
  if (file) fs::rename(aside, path, error);
  if (file && !error) return OkStatus();
  return Unavailable(StrCat("cannot write ", path, "; is the disk full or the path read-only?"));
}

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

Status MakeDirectory(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (!error) return OkStatus();
  return Unavailable(StrCat("cannot make the directory ", path, ": ", error.message()));
}

// The directories of all trainers of an earlier run, which may have had more of them.
std::vector<fs::path> TrainerDirectories(const std::string& path) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path, error)) {
    const bool is_ours = entry.path().filename().string().starts_with("trainer-");
    std::error_code unknown;  // then it is not removed from
    if (is_ours && entry.is_directory(unknown)) found.push_back(entry.path());
  }
  return found;
}

}  // namespace

std::string OutputDirectory::LogPath(const std::string& process_name) const {
  return StrCat(LogDirectory(), "/", process_name, ".log");
}

std::string OutputDirectory::TrainerPath(int trainer) const {
  return StrCat(path_, "/trainer-", trainer);
}

Result<DirectoryLock> OutputDirectory::Prepare(int trainer_count,
                                               const std::string& config_text) const {
  WEIR_RETURN_IF_ERROR(MakeDirectory(LogDirectory()));
  WEIR_ASSIGN_OR_RETURN(DirectoryLock lock, DirectoryLock::Take(path_));
  WEIR_RETURN_IF_ERROR(RemoveEarlierRun());
  for (int trainer = 0; trainer < trainer_count; ++trainer) {
    WEIR_RETURN_IF_ERROR(MakeDirectory(TrainerPath(trainer)));
  }
  WEIR_RETURN_IF_ERROR(WriteWhole(ConfigPath(), config_text));
  return lock;
}

Status OutputDirectory::RemoveEarlierRun() const {
  std::vector<fs::path> directories = TrainerDirectories(path_);
  directories.emplace_back(path_);
  for (const fs::path& directory : directories) {
    for (const char* name : {kSummaryName, kMetricsName}) {
      WEIR_RETURN_IF_ERROR(Remove(directory / name));
    }
  }
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
        WriteWhole(RunMetricsPath(), ReadWhole(MetricsPath(trainer)).value_or("")));
    WEIR_RETURN_IF_ERROR(WriteWhole(SummaryPath(), *summary));
    return *std::move(summary);
  }
  return NotFound(StrCat("all processes ended well, but no trainer wrote ", TrainerPath(0), "/",
                         kSummaryName, "; their logs are in ", LogDirectory()));
}

}  // namespace weir::tools
