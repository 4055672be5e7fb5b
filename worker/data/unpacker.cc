#include "worker/data/unpacker.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <limits>

#include "common/base/check.h"

namespace weir::data {
namespace {

constexpr std::array<unsigned char, 2> kGzipMagic = {0x1f, 0x8b};
constexpr std::array<unsigned char, 4> kZstdMagic = {0x28, 0xb5, 0x2f, 0xfd};
constexpr int kGzipOnly = 15 + 16;  // zlib's way to say: the largest window, gzip headers

class GzipUnpacker : public Unpacker {
 public:
  GzipUnpacker() { CHECK_EQ(inflateInit2(&stream_, kGzipOnly), Z_OK); }
  ~GzipUnpacker() override { inflateEnd(&stream_); }
  GzipUnpacker(const GzipUnpacker&) = delete;
  GzipUnpacker& operator=(const GzipUnpacker&) = delete;

  Progress Unpack(std::span<const unsigned char> packed, std::span<char> unpacked) override {
    constexpr size_t kMost = std::numeric_limits<unsigned>::max();
    // What fills up a block of a tape or a device behind the last member, as gzip has it.
    if (!inside_member_ && !packed.empty() && packed.front() == 0) {
      const auto end = std::ranges::find_if(packed, [](unsigned char byte) { return byte != 0; });
      return {static_cast<size_t>(end - packed.begin()), 0, ""};
    }
    stream_.next_in = const_cast<unsigned char*>(packed.data());  // zlib only reads it
    stream_.avail_in = static_cast<unsigned>(std::min(packed.size(), kMost));
    stream_.next_out = reinterpret_cast<unsigned char*>(unpacked.data());
    stream_.avail_out = static_cast<unsigned>(std::min(unpacked.size(), kMost));
    const unsigned in = stream_.avail_in, out = stream_.avail_out;
    const int code = inflate(&stream_, Z_NO_FLUSH);
    Progress progress = {in - stream_.avail_in, out - stream_.avail_out, ""};
    if (progress.used > 0) inside_member_ = true;
    if (code == Z_STREAM_END) {
      inside_member_ = false;
      CHECK_EQ(inflateReset(&stream_), Z_OK);
    } else if (code != Z_OK && code != Z_BUF_ERROR) {
      progress.error = stream_.msg == nullptr ? "no reason given" : stream_.msg;
    }
    return progress;
  }
  bool inside_member() const override { return inside_member_; }

 private:
  z_stream stream_ = {};
  bool inside_member_ = false;
};

class ZstdUnpacker : public Unpacker {
 public:
  Progress Unpack(std::span<const unsigned char> packed, std::span<char> unpacked) override {
    ZSTD_inBuffer in = {packed.data(), packed.size(), 0};
    ZSTD_outBuffer out = {unpacked.data(), unpacked.size(), 0};
    const size_t code = ZSTD_decompressStream(context_.get(), &out, &in);
    Progress progress = {in.pos, out.pos, ""};
    if (ZSTD_isError(code) != 0) {
      progress.error = ZSTD_getErrorName(code);
    } else if (progress.used + progress.made > 0) {
      inside_member_ = code != 0;
    }
    return progress;
  }
  bool inside_member() const override { return inside_member_; }

 private:
  struct Free {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };

  const std::unique_ptr<ZSTD_DCtx, Free> context_{ZSTD_createDCtx()};
  bool inside_member_ = false;
};

// A frame that unpackers pass over, of 16 numbers; parallel packers begin with one.
bool StartsWithSkippableZstd(std::span<const unsigned char> bytes) {
  constexpr std::array<unsigned char, 4> kMagic = {0x50, 0x2a, 0x4d, 0x18};
  return bytes.size() >= kMagic.size() && (bytes[0] & 0xf0) == kMagic[0] &&
         std::ranges::equal(bytes.subspan(1, 3), std::span(kMagic).subspan(1));
}

template <size_t kSize>
bool StartsWith(std::span<const unsigned char> bytes,
                const std::array<unsigned char, kSize>& magic) {
  return bytes.size() >= kSize && std::ranges::equal(bytes.first(kSize), magic);
}

}  // namespace

std::unique_ptr<Unpacker> MakeUnpacker(std::span<const unsigned char> first_bytes) {
  if (StartsWith(first_bytes, kGzipMagic)) return std::make_unique<GzipUnpacker>();
  if (StartsWith(first_bytes, kZstdMagic) || StartsWithSkippableZstd(first_bytes)) {
    return std::make_unique<ZstdUnpacker>();
  }
  return nullptr;
}

}  // namespace weir::data
