// Little-endian bytes in and out, with bounds: ByteWriter appends, ByteReader never reads past the
// end and remembers that it was asked to.
//
// Thread rule: thread-compatible. ByteReader borrows its span.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace weir {

static_assert(std::endian::native == std::endian::little, "frames are raw little-endian");

using Bytes = std::vector<uint8_t>;
using ByteSpan = std::span<const uint8_t>;

inline ByteSpan AsBytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

class ByteWriter {
 public:
  explicit ByteWriter(Bytes& out) : out_(out) {}

  template <typename T>
  void Put(T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    PutRaw(&value, sizeof(T));
  }
  void PutRaw(const void* data, size_t byte_count) {
    const auto* first = static_cast<const uint8_t*>(data);
    out_.insert(out_.end(), first, first + byte_count);
  }
  // LEB128.
  void PutVarint(uint64_t value) {
    while (value >= 0x80) {
      out_.push_back(static_cast<uint8_t>(value | 0x80));
      value >>= 7;
    }
    out_.push_back(static_cast<uint8_t>(value));
  }
  size_t size() const { return out_.size(); }

 private:
  Bytes& out_;
};

// After a read past the end, or a varint of more than 64 bits, ok() is false and reads give zero.
class ByteReader {
 public:
  explicit ByteReader(ByteSpan bytes) : bytes_(bytes) {}

  template <typename T>
  T Get() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    if (const uint8_t* data = Take(sizeof(T))) std::memcpy(&value, data, sizeof(T));
    return value;
  }
  uint64_t GetVarint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = Get<uint8_t>();
      if (!ok_) return 0;
      if (shift == 63 && byte > 1) break;  // bits beyond the 64th
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    ok_ = false;
    return 0;
  }
  // A borrowed view of the next byte_count bytes; empty when there are not so many.
  ByteSpan GetSpan(size_t byte_count) {
    const uint8_t* data = Take(byte_count);
    return data == nullptr ? ByteSpan() : ByteSpan(data, byte_count);
  }
  size_t remaining() const { return bytes_.size() - position_; }
  bool ok() const { return ok_; }

 private:
  const uint8_t* Take(size_t byte_count) {
    if (!ok_ || byte_count > remaining()) {
      ok_ = false;
      return nullptr;
    }
    const uint8_t* data = bytes_.data() + position_;
    position_ += byte_count;
    return data;
  }

  ByteSpan bytes_;
  size_t position_ = 0;
  bool ok_ = true;
};

}  // namespace weir
