#include "worker/data/text_writer.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "common/base/check.h"
#include "common/base/strings.h"

namespace weir::data {

Result<std::unique_ptr<TextWriter>> TextWriter::Create(const std::string& link_or_path) {
  std::error_code error;
  std::string path = std::filesystem::weakly_canonical(link_or_path, error).string();
  if (error) return NotFound(StrCat(link_or_path, " cannot be reached: ", error.message()));
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    return InvalidConfig(StrCat(link_or_path, " is a directory or a device; name a file"));
  }
  // One of its own, for another process may be writing to the same path.
  const std::string partial_path = StrCat(path, ".partial-", getpid());
  // "T": as it is. Level 3 is some three times as fast as zlib's default, for a tenth more bytes.
  gzFile file = gzopen(partial_path.c_str(), path.ends_with(".gz") ? "wb3" : "wbT");
  if (file == nullptr) {
    return NotFound(StrCat(partial_path, " cannot be created: ", std::strerror(errno)));
  }
  return std::unique_ptr<TextWriter>(new TextWriter(path, partial_path, file));
}

TextWriter::TextWriter(std::string path, std::string partial_path, gzFile file)
    : path_(std::move(path)), partial_path_(std::move(partial_path)), file_(file) {
  gzbuffer(file_, 1u << 18);
}

TextWriter::~TextWriter() {
  if (file_ != nullptr) gzclose_w(file_);
  if (!is_there_) return;
  std::error_code ignored;
  std::filesystem::remove(partial_path_, ignored);
}

Status TextWriter::Write(std::string_view text) {
  if (text.empty()) return OkStatus();
  const auto size = static_cast<unsigned>(text.size());
  if (gzwrite(file_, text.data(), size) != static_cast<int>(size)) return Failure();
  return OkStatus();
}

Status TextWriter::Finish() {
  CHECK(file_ != nullptr) << "finished twice";
  if (gzclose_w(std::exchange(file_, nullptr)) != Z_OK) return Failure();
  is_finished_ = true;
  return OkStatus();
}

Status TextWriter::Close() {
  if (!is_finished_) WEIR_RETURN_IF_ERROR(Finish());
  CHECK(is_there_) << "closed twice";
  std::error_code error;
  std::filesystem::rename(partial_path_, path_, error);
  if (error) return Internal(StrCat(path_, " cannot be put in place: ", error.message()));
  is_there_ = false;
  return OkStatus();
}

Status TextWriter::Failure() const {
  return ResourceExhausted(
      StrCat(partial_path_, " cannot be written: ", std::strerror(errno), " (disk full?)"));
}

}  // namespace weir::data
