#include "common/base/file_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "common/base/strings.h"

namespace weir {
namespace {

Status WriteAside(const std::string& path, std::string_view text) {
  WEIR_ASSIGN_OR_RETURN(FileWriter file, FileWriter::Create(path));
  WEIR_RETURN_IF_ERROR(file.Append(AsBytes(text)));
  return file.Finish();
}

// As the kernel does; what a link names need not be there yet.
Result<std::string> FollowLinks(std::filesystem::path path) {
  constexpr int kMostLinks = 40;
  const std::string named = path.string();
  std::error_code error;
  for (int i = 0; i < kMostLinks; ++i) {
    if (!std::filesystem::is_symlink(path, error)) return path.string();
    path = path.parent_path() / std::filesystem::read_symlink(path, error);
  }
  errno = ELOOP;
  return CannotWrite(named);
}

}  // namespace

Status CannotWrite(const std::string& path) {
  return Unavailable(StrCat("cannot write ", path, ": ", std::strerror(errno)));
}

Status CheckRoom(const std::string& folder, std::string_view what, uint64_t least_bytes) {
  std::error_code error;
  const std::filesystem::space_info room = std::filesystem::space(folder, error);
  if (error || room.available >= least_bytes) return OkStatus();
  return Unavailable(StrCat(what, " takes ", least_bytes, " bytes at least, and the disk of ",
                            folder, " has room for ", room.available, ": make room there"));
}

Status SyncFolder(const std::string& path) {
  const int folder = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool done = folder >= 0 && fsync(folder) == 0;
  Status status = done ? OkStatus() : CannotWrite(path);
  if (folder >= 0) close(folder);
  return status;
}

Status ReplaceFile(const std::string& path, std::string_view text) {
  WEIR_ASSIGN_OR_RETURN(const std::string target, FollowLinks(path));
  const std::string aside = target + ".partial";
  Status status = WriteAside(aside, text);
  if (status.ok() && std::rename(aside.c_str(), target.c_str()) != 0) status = CannotWrite(path);
  if (!status.ok()) unlink(aside.c_str());
  return status;
}

Result<FileWriter> FileWriter::Create(const std::string& path) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return CannotWrite(path);
  return FileWriter(path, file);
}

FileWriter::FileWriter(FileWriter&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      byte_count_(other.byte_count_) {}

FileWriter::~FileWriter() {
  if (file_ >= 0) close(file_);
}

Status FileWriter::Append(ByteSpan bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return CannotWrite(path_);
    byte_count_ += static_cast<uint64_t>(written);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return OkStatus();
}

Status FileWriter::Finish() {
  const bool synced = fsync(file_) == 0;
  Status status = synced ? OkStatus() : CannotWrite(path_);
  const bool closed = close(std::exchange(file_, -1)) == 0;
  return status.ok() && !closed ? CannotWrite(path_) : status;
}

}  // namespace weir
