#include "tools/model/output_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <utility>

#include "common/base/strings.h"

namespace weir::tools {

namespace fs = std::filesystem;

Result<std::unique_ptr<OutputFile>> OutputFile::Create(const std::string& path) {
  if (path == "-") return std::unique_ptr<OutputFile>(new OutputFile("standard output", ""));
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    return FailedPrecondition(StrCat(path, " is there and is no file; name another"));
  }
  const fs::path target = fs::weakly_canonical(path, error);
  const std::string name = error ? path : target.string();
  std::unique_ptr<OutputFile> file(
      new OutputFile(name, StrCat(name, ".partial-", static_cast<int64_t>(getpid()))));
  if (!file->file_) return file->Failed();
  return file;
}

OutputFile::OutputFile(std::string path, std::string aside)
    : path_(std::move(path)), aside_(std::move(aside)), out_(aside_.empty() ? std::cout : file_) {
  if (!is_standard_output()) file_.open(aside_, std::ios::binary);
}

OutputFile::~OutputFile() {
  if (!finished_) Abandon();
}

void OutputFile::Abandon() const {
  std::error_code error;
  if (!is_standard_output()) fs::remove(aside_, error);
}

Status OutputFile::Write(const char* bytes, size_t size) {
  out_.write(bytes, static_cast<std::streamsize>(size));
  return out_ ? OkStatus() : Failed();
}

Status OutputFile::Finish() {
  if (is_standard_output()) {
    finished_ = true;
    return out_.flush() ? OkStatus() : Failed();
  }
  file_.close();
  if (!file_) return Failed();
  std::error_code error;
  fs::rename(aside_, path_, error);
  if (error) return Unavailable(StrCat("cannot write ", path_, ": ", error.message()));
  finished_ = true;
  return OkStatus();
}

Status OutputFile::Failed() const {
  return Unavailable(StrCat("cannot write ", path_, ": ", std::strerror(errno)));
}

}  // namespace weir::tools
