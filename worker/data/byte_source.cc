#include "worker/data/byte_source.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "common/base/check.h"
#include "common/base/strings.h"

namespace weir::data {
namespace {

constexpr size_t kInputBytes = size_t{1} << 16;
constexpr int kGzipOnly = 15 + 16;  // zlib's way to say: the largest window, gzip headers

}  // namespace

Result<std::unique_ptr<ByteSource>> ByteSource::Open(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return NotFound(StrCat(path, " cannot be opened: ", std::strerror(errno)));
  std::unique_ptr<ByteSource> source(new ByteSource(path, file));
  WEIR_RETURN_IF_ERROR(source->FillInput().status());
  source->is_packed_ =
      source->stream_.avail_in >= 2 && source->input_[0] == 0x1f && source->input_[1] == 0x8b;
  return source;
}

ByteSource::ByteSource(std::string path, int file)
    : path_(std::move(path)), file_(file), input_(kInputBytes) {
  CHECK_EQ(inflateInit2(&stream_, kGzipOnly), Z_OK);
}

ByteSource::~ByteSource() {
  inflateEnd(&stream_);
  close(file_);
}

Result<size_t> ByteSource::Read(char* to, size_t size) {
  if (is_packed_) return Unpack(to, size);
  if (stream_.avail_in == 0) return ReadRaw(to, size);
  const size_t count = std::min<size_t>(size, stream_.avail_in);  // what told that it is not packed
  std::memcpy(to, stream_.next_in, count);
  stream_.next_in += count;
  stream_.avail_in -= static_cast<unsigned>(count);
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
                        ReadRaw(reinterpret_cast<char*>(input_.data()), input_.size()));
  stream_.next_in = input_.data();
  stream_.avail_in = static_cast<unsigned>(count);
  return count > 0;
}

Result<size_t> ByteSource::Unpack(char* to, size_t size) {
  stream_.next_out = reinterpret_cast<unsigned char*>(to);
  stream_.avail_out = static_cast<unsigned>(size);
  while (stream_.avail_out == size) {
    if (stream_.avail_in == 0) {
      WEIR_ASSIGN_OR_RETURN(const bool more, FillInput());
      if (!more && inside_member_) {
        return InvalidData(StrCat(path_, ": compressed data ends early (truncated file?)"));
      }
      if (!more) return size_t{0};
    }
    inside_member_ = true;
    const int code = inflate(&stream_, Z_NO_FLUSH);
    if (code == Z_STREAM_END) {
      inside_member_ = false;
      CHECK_EQ(inflateReset(&stream_), Z_OK);
    } else if (code != Z_OK && code != Z_BUF_ERROR) {
      // What is sound comes first; the next call meets the damage again.
      if (stream_.avail_out < size) break;
      const char* reason = stream_.msg == nullptr ? "no reason given" : stream_.msg;
      return InvalidData(StrCat(path_, ": compressed data is damaged (", reason, ")"));
    }
  }
  return size - stream_.avail_out;
}

}  // namespace weir::data
