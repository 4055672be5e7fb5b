#include "worker/data/byte_source.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "common/base/strings.h"

namespace weir::data {
namespace {

constexpr size_t kInputBytes = size_t{1} << 16;

}  // namespace

Result<std::unique_ptr<ByteSource>> ByteSource::Open(const std::string& path) {
  const int file = path == kStandardInput ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                          : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return NotFound(StrCat(path, " cannot be opened: ", std::strerror(errno)));
  std::unique_ptr<ByteSource> source(new ByteSource(path, file));
  WEIR_RETURN_IF_ERROR(source->ReadMagic());
  source->unpacker_ = MakeUnpacker(source->input_);
  return source;
}

ByteSource::ByteSource(std::string path, int file)
    : path_(std::move(path)), file_(file), buffer_(kInputBytes) {}

ByteSource::~ByteSource() { close(file_); }

Result<size_t> ByteSource::Read(char* to, size_t size) {
  if (unpacker_) return Unpack(to, size);
  if (input_.empty()) return ReadRaw(to, size);
  const size_t count = std::min(size, input_.size());  // what told that it is not packed
  std::memcpy(to, input_.data(), count);
  input_ = input_.subspan(count);
  return count;
}

Result<size_t> ByteSource::ReadRaw(char* to, size_t size) {
  ssize_t count = 0;
  do {
    count = read(file_, to, size);
  } while (count < 0 && errno == EINTR);
  if (count < 0) return InvalidData(StrCat(path_, " cannot be read: ", std::strerror(errno)));
  return static_cast<size_t>(count);
}

Result<bool> ByteSource::FillInput() {
  WEIR_ASSIGN_OR_RETURN(const size_t count,
                        ReadRaw(reinterpret_cast<char*>(buffer_.data()), buffer_.size()));
  input_ = std::span(buffer_).first(count);
  return count > 0;
}

// A pipe may give few bytes at a time.
Status ByteSource::ReadMagic() {
  constexpr size_t kMagicBytes = 16;
  size_t size = 0;
  while (size < kMagicBytes) {
    WEIR_ASSIGN_OR_RETURN(
        const size_t count,
        ReadRaw(reinterpret_cast<char*>(buffer_.data()) + size, buffer_.size() - size));
    if (count == 0) break;
    size += count;
  }
  input_ = std::span(buffer_).first(size);
  return OkStatus();
}

Result<size_t> ByteSource::Unpack(char* to, size_t size) {
  while (damage_.empty()) {
    // Without packed bytes too: the unpacker may hold back what had no room before.
    Unpacker::Progress progress = unpacker_->Unpack(input_, {to, size});
    input_ = input_.subspan(progress.used);
    damage_ = std::move(progress.error);
    if (progress.made > 0) return progress.made;
    if (!input_.empty() || !damage_.empty()) continue;
    WEIR_ASSIGN_OR_RETURN(const bool more, FillInput());
    if (more) continue;
    if (!unpacker_->inside_member()) return size_t{0};
    return InvalidData(StrCat(path_, ": compressed data ends early (truncated file?)"));
  }
  return InvalidData(StrCat(path_, ": compressed data is damaged (", damage_, ")"));
}

}  // namespace weir::data
