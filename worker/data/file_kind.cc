#include "worker/data/file_kind.h"

#include <filesystem>
#include <system_error>

#include "common/base/strings.h"
#include "worker/data/byte_source.h"

namespace weir::data {
namespace {

constexpr const char* kDash = "-";
constexpr const char* kReadAgain =
    ", which gives its rows once; training reads a file several times: write them to a file, and "
    "name that";

// What a path leads to that is neither a file nor a folder.
const char* KindOf(const std::filesystem::file_status& status) {
  switch (status.type()) {
    case std::filesystem::file_type::fifo:
      return "pipe";
    case std::filesystem::file_type::socket:
      return "socket";
    default:
      return "device";
  }
}

}  // namespace

std::string NameOf(const std::string& path, Passes passes) {
  return passes == Passes::kOne && path == kDash ? kStandardInput : path;
}

bool IsStream(const std::string& path, Passes passes) {
  if (passes == Passes::kMany) return false;
  std::error_code error;
  return path == kDash || !std::filesystem::is_regular_file(path, error);
}

Status CheckIsFile(const std::string& path, Passes passes) {
  if (passes == Passes::kOne && path == kDash) return OkStatus();
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    if (std::filesystem::path(path).filename() != kDash) {
      return NotFound(StrCat(path, ": no such file"));
    }
    return InvalidData(StrCat(path, " would be standard input", kReadAgain));
  }
  if (error) return NotFound(StrCat(path, " cannot be reached: ", error.message()));
  if (std::filesystem::is_directory(status)) {
    return NotFound(StrCat(path, " is a directory; name the files in it"));
  }
  if (passes == Passes::kOne || std::filesystem::is_regular_file(status)) return OkStatus();
  return InvalidData(StrCat(path, " is a ", KindOf(status), kReadAgain));
}

}  // namespace weir::data
