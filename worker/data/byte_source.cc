#include "worker/data/byte_source.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "common/base/strings.h"

namespace weir::data {
namespace {

constexpr size_t kInputBytes = size_t{1} << 16;

// Members that are remembered, however short they are.
constexpr size_t kMostMembers = 4096;

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
  size_t count = 0;
  if (unpacker_) {
    WEIR_ASSIGN_OR_RETURN(count, Unpack(to, size));
  } else if (input_.empty()) {
    WEIR_ASSIGN_OR_RETURN(count, ReadRaw(to, size));
  } else {
    count = std::min(size, input_.size());  // what told that it is not packed
    std::memcpy(to, input_.data(), count);
    input_ = input_.subspan(count);
  }
  given_ += count;
  return count;
}

Result<bool> ByteSource::Enter(uint64_t entry) {
  if (lseek(file_, static_cast<off_t>(entry), SEEK_SET) != static_cast<off_t>(entry)) return false;
  raw_end_ = entry;
  given_ = 0;
  members_ = {{.entry = entry}};
  input_ = {};
  damage_.clear();
  if (!is_packed()) return true;
  WEIR_RETURN_IF_ERROR(ReadMagic());
  auto unpacker = MakeUnpacker(input_);
  if (unpacker == nullptr) return false;
  unpacker_ = std::move(unpacker);
  return true;
}

std::optional<BytePlace> ByteSource::PlaceOf(uint64_t position) const {
  const auto behind = std::ranges::upper_bound(members_, position, {}, &Member::position);
  if (behind == members_.begin()) return std::nullopt;
  const Member& member = *std::prev(behind);
  const uint64_t inside = position - member.position;
  if (!is_packed()) return BytePlace{.entry = member.entry + inside};
  return BytePlace{.entry = member.entry, .behind = inside};
}

void ByteSource::NoteMember(uint64_t position) {
  const Member member{.entry = raw_end_ - input_.size(), .position = position};
  if (members_.back().position == member.position) {
    members_.back() = member;  // there was nothing in the one before
    return;
  }
  members_.push_back(member);
  const auto is_old = [&] { return members_[1].position + kKnownBytes < position; };
  while (members_.size() > kMostMembers || is_old()) members_.pop_front();
}

Result<size_t> ByteSource::ReadRaw(char* to, size_t size) {
  ssize_t count = 0;
  do {
    count = read(file_, to, size);
  } while (count < 0 && errno == EINTR);
  if (count < 0) return InvalidData(StrCat(path_, " cannot be read: ", std::strerror(errno)));
  raw_end_ += static_cast<uint64_t>(count);
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
    if (progress.used > 0 && !unpacker_->inside_member()) NoteMember(given_ + progress.made);
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
