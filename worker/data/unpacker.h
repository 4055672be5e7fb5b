// Unpacks what gzip (RFC 1952) or zstd (RFC 8878) has packed, piece by piece.
//
// Place in the life of a batch: **read** -> lines -> parse.
// Thread rule: one thread at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace weir::data {

class Unpacker {
 public:
  struct Progress {
    size_t used = 0;    // of the packed bytes
    size_t made = 0;    // of the unpacked ones
    std::string error;  // what is wrong with the packed bytes behind these; empty when nothing is
  };

  virtual ~Unpacker() = default;
  // unpacked is not empty. Packed bytes may be used up before all is made of them: when nothing is
  // made without any, nothing is left.
  virtual Progress Unpack(std::span<const unsigned char> packed, std::span<char> unpacked) = 0;
  // Whether the bytes so far end within a member, or frame.
  virtual bool inside_member() const = 0;
};

// By the first bytes of a file; null when it is not packed.
std::unique_ptr<Unpacker> MakeUnpacker(std::span<const unsigned char> first_bytes);

}  // namespace weir::data
