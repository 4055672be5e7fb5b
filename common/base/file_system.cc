#include "common/base/file_system.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "common/base/directory_lock.h"
#include "common/base/file_writer.h"
#include "common/base/strings.h"

namespace weir {
namespace {

Status CannotRead(const std::string& path) {
  const std::string why = StrCat("cannot read ", path, ": ", std::strerror(errno));
  return errno == ENOENT ? NotFound(why) : Unavailable(why);
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  int number() const { return number_; }

 private:
  const int number_;
};

class RealFile : public WritableFile {
 public:
  RealFile(std::string path, int number) : path_(std::move(path)), file_(number) {}

  Status Append(std::span<const ByteSpan> parts) override {
    std::vector<iovec> rest;
    for (const ByteSpan part : parts) {
      if (!part.empty()) rest.push_back({const_cast<uint8_t*>(part.data()), part.size()});
    }
    for (auto next = rest.begin(); next != rest.end();) {
      const auto count = std::min<std::ptrdiff_t>(rest.end() - next, kMostAtOnce);
      const ssize_t written = writev(file_.number(), &*next, static_cast<int>(count));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return CannotWrite(path_);
      for (auto left = static_cast<size_t>(written); next != rest.end(); ++next) {
        const size_t taken = std::min(left, next->iov_len);
        next->iov_base = static_cast<uint8_t*>(next->iov_base) + taken;
        next->iov_len -= taken;
        left -= taken;
        if (next->iov_len > 0) break;
      }
    }
    return OkStatus();
  }

  Status Sync() override {
    return fdatasync(file_.number()) == 0 ? OkStatus() : CannotWrite(path_);
  }

 private:
  static constexpr std::ptrdiff_t kMostAtOnce = 1024;  // IOV_MAX

  const std::string path_;
  const Descriptor file_;
};

struct RealClaim : FolderClaim {
  explicit RealClaim(DirectoryLock l) : lock(std::move(l)) {}
  const DirectoryLock lock;
};

class RealFiles : public FileSystem {
 public:
  Result<std::unique_ptr<WritableFile>> Create(const std::string& path) override {
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0) return CannotWrite(path);
    return std::unique_ptr<WritableFile>(std::make_unique<RealFile>(path, file));
  }

  Result<Bytes> Read(const std::string& path, uint64_t offset, uint64_t byte_count) override {
    const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.number() < 0) return CannotRead(path);
    WEIR_ASSIGN_OR_RETURN(const uint64_t size, Size(path));
    Bytes bytes(std::min(byte_count, size - std::min(size, offset)));
    for (size_t read = 0; read < bytes.size();) {
      const ssize_t got = pread(file.number(), bytes.data() + read, bytes.size() - read,
                                static_cast<off_t>(offset + read));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return CannotRead(path);
      if (got == 0) bytes.resize(read);
      read += static_cast<size_t>(got);
    }
    return bytes;
  }

  Result<uint64_t> Size(const std::string& path) override {
    std::error_code error;
    const auto size = std::filesystem::file_size(path, error);
    if (!error) return static_cast<uint64_t>(size);
    errno = error.value();
    return CannotRead(path);
  }

  Status Rename(const std::string& from, const std::string& to) override {
    return std::rename(from.c_str(), to.c_str()) == 0 ? OkStatus() : CannotWrite(to);
  }

  Status Remove(const std::string& path) override {
    return std::remove(path.c_str()) == 0 || errno == ENOENT ? OkStatus() : CannotWrite(path);
  }

  Status MakeFolder(const std::string& path) override {
    std::error_code error;
    std::filesystem::create_directory(path, error);
    if (!error) return OkStatus();
    errno = error.value();
    return CannotWrite(path);
  }

  Status SyncFile(const std::string& path) override {
    const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    return file.number() >= 0 && fsync(file.number()) == 0 ? OkStatus() : CannotWrite(path);
  }

  Status SyncFolder(const std::string& path) override { return weir::SyncFolder(path); }

  Result<std::vector<std::string>> List(const std::string& folder) override {
    std::error_code error;
    std::vector<std::string> names;
    auto entry = std::filesystem::directory_iterator(folder, error);
    for (const auto end = std::filesystem::directory_iterator(); !error && entry != end;
         entry.increment(error)) {
      names.push_back(entry->path().filename().string());
    }
    if (error) {
      errno = error.value();
      return CannotRead(folder);
    }
    std::ranges::sort(names);
    return names;
  }

  Result<std::unique_ptr<FolderClaim>> Claim(const std::string& folder) override {
    WEIR_ASSIGN_OR_RETURN(DirectoryLock lock, DirectoryLock::Take(folder));
    return std::unique_ptr<FolderClaim>(std::make_unique<RealClaim>(std::move(lock)));
  }
};

}  // namespace

FileSystem& FileSystem::Real() {
  static RealFiles files;
  return files;
}

}  // namespace weir
