#include "tools/bench/json_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "common/base/strings.h"
#include "tools/bench/report.h"

namespace weir::bench {
namespace {

// The file itself, where a link leads to it.
std::string Resolved(const std::string& path) {
  std::error_code error;
  std::string resolved = std::filesystem::weakly_canonical(path, error).string();
  return error ? path : resolved;
}

bool IsFile(const std::string& path) {
  std::error_code error;
  return !std::filesystem::exists(path, error) || std::filesystem::is_regular_file(path, error);
}

// Where the lines are written: beside a file, to take its place whole; into what is no file.
struct JsonTarget {
  explicit JsonTarget(const std::string& path)
      : named(path),
        is_file(IsFile(path)),
        whole(Resolved(path)),
        written(is_file ? whole + ".partial" : path) {}

  Status Failure() const {
    return Unavailable(StrCat("--json: cannot write ", named, ": ", std::strerror(errno)));
  }

  const std::string named;
  const bool is_file;
  const std::string whole, written;
};

}  // namespace

Status CheckJson(const std::string& path) {
  if (path.empty()) return OkStatus();
  const JsonTarget target(path);
  if (!std::ofstream(target.written, std::ios::app)) return target.Failure();
  if (target.is_file) std::filesystem::remove(target.written);
  return OkStatus();
}

Status WriteJson(const std::string& path, const Lines& lines, const Machine& machine) {
  if (path.empty()) return OkStatus();
  const JsonTarget target(path);
  std::ofstream file(target.written);
  file << ToJson(lines, machine) << std::flush;
  if (!file) return target.Failure();
  if (!target.is_file || std::rename(target.written.c_str(), target.whole.c_str()) == 0) {
    return OkStatus();
  }
  return target.Failure();
}

}  // namespace weir::bench
