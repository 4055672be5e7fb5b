// The bytes of a file, unpacked if they are packed (worker/data/unpacker.h; told by the first
// bytes, not by the name). All members of a file count, and whatever is not one is an error:
// nothing of a file is left out in silence.
//
// A file that is not packed can be entered anywhere, a packed one where a member begins: what was
// read tells where its members do, and with that where to enter for any of the bytes.
//
// Place in the life of a batch: **read** -> lines -> parse.
// Thread rule: one thread at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "worker/data/unpacker.h"

namespace weir::data {

inline constexpr const char* kStandardInput = "standard input";

// A byte of a file's unpacked bytes, as one finds it again.
struct BytePlace {
  uint64_t entry = 0;   // byte of the file, in which a member begins if it is packed
  uint64_t behind = 0;  // unpacked bytes from there on; 0 in a file that is not packed
};

class ByteSource {
 public:
  // path: a file, or whatever else gives bytes when it is opened; kStandardInput is standard input.
  static Result<std::unique_ptr<ByteSource>> Open(const std::string& path);
  ~ByteSource();
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  bool is_packed() const { return unpacker_ != nullptr; }

  // Up to `size` > 0 of the next bytes; 0 at the end.
  Result<size_t> Read(char* to, size_t size);

  // Reads on from `entry`, and counts positions anew from there. False where that cannot be;
  // nothing can be read then.
  Result<bool> Enter(uint64_t entry);
  // Of what is at this position, as Read counts its bytes, from 0, one of the last kKnownBytes that
  // it gave. Nothing for one that is not known any more.
  std::optional<BytePlace> PlaceOf(uint64_t position) const;
  static constexpr uint64_t kKnownBytes = uint64_t{1} << 26;

 private:
  struct Member {
    uint64_t entry = 0;     // byte of the file
    uint64_t position = 0;  // of its first unpacked byte
  };

  ByteSource(std::string path, int file);

  Result<size_t> ReadRaw(char* to, size_t size);
  Result<size_t> Unpack(char* to, size_t size);
  Status ReadMagic();
  // A member has ended at this position; another may begin there.
  void NoteMember(uint64_t position);
  // More of the file's bytes behind what was used; false at its end.
  Result<bool> FillInput();

  const std::string path_;
  const int file_;
  std::unique_ptr<Unpacker> unpacker_;  // null for a file that is not packed
  std::string damage_;                  // told once what is sound before it was given out
  std::vector<unsigned char> buffer_;
  std::span<const unsigned char> input_;  // of buffer_: read and not used
  uint64_t raw_end_ = 0;                  // byte of the file up to which it was read
  uint64_t given_ = 0;                    // bytes that Read has given
  std::deque<Member> members_ = {{}};     // or of a file that is not packed, where it was entered
};

}  // namespace weir::data
