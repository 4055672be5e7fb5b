// Where the chunks of a split's files begin, as trainers find it: so one that is lent a chunk need
// not go over all lines before it.
//
// What trainers tell is checked against what was told before. Of a file of which two things were
// told that cannot both be true nothing is known from then on, and trainers go over its lines. A
// place that is told twice, or late, does no harm.
//
// However many chunks there are, no more than a fixed number of places is kept: when there are so
// many, those of every other chunk are, and no others from then on.
//
// Place in the life of a batch: **lease** -> read -> parse -> ...
// Thread rule: owner thread only (the coordinator's, or the embedded worker's input thread).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "common/cluster/saved_parts.h"
#include "common/cluster/whole_part.h"
#include "common/proto/protocol.pb.h"

namespace weir::cluster {

class ChunkPlaces {
 public:
  // Of a split: 8 MiB.
  static constexpr size_t kMostPlaces = size_t{1} << 18;
  // Unpacked in some 10 ms.
  static constexpr uint64_t kFarBytes = uint64_t{1} << 22;

  ChunkPlaces(uint32_t file_count, uint64_t lines_per_chunk, size_t most_places = kMostPlaces);

  // False when it contradicts what was told of the file before, once.
  bool Learn(uint32_t file, const v1::ChunkPlace& place);

  // Of the chunk, or the nearest before it; nothing when its file is to be read from the beginning.
  std::optional<v1::ChunkPlace> Find(uint32_t file, uint64_t chunk) const;

  // Whether it takes long to come to the chunk for who is not there: so many packed bytes are
  // before it. Once a file is so, others are taken to be, until a place to enter was found in them.
  bool IsFar(uint32_t file, uint64_t chunk) const;

  // Whether it is not known where the chunk begins, and would be kept.
  bool Wants(uint32_t file, uint64_t chunk) const;

  size_t size() const { return size_; }
  uint32_t file_count() const { return static_cast<uint32_t>(files_.size()); }
  // Nothing is known of these.
  void SetFileCount(uint32_t file_count);

  void SaveChanges(SavedParts* parts);
  // Into one of no file or the same number.
  Status Load(PartSource* source, uint32_t file_count);
  static void Fields(auto& self, auto& state) {
    state(self.untrusted_, self.stride_, self.has_far_);
  }

 private:
  struct Place {
    uint64_t chunk = 0;
    uint64_t entry = 0, behind = 0;
    uint64_t text_lines = 0;
    static void Fields(auto& self, auto& state) {
      state(self.chunk, self.entry, self.behind, self.text_lines);
    }
  };
  using File = std::vector<Place>;  // by chunk
  // Places that are saved together: no more than kMostOfBlock, which follow each other.
  struct Block {
    uint32_t file = 0;
    uint64_t index = 0;
    auto operator<=>(const Block&) const = default;  // NOLINT(modernize-use-nullptr)
    static void Fields(auto& self, auto& state) { state(self.file, self.index); }
  };
  static constexpr uint64_t kMostOfBlock = 256;

  // Whether a chunk that begins at the one place can be before one that begins at the other.
  bool MayPrecede(const Place& first, const Place& second) const;
  bool Fits(const File& file, size_t index, const Place& place) const;
  void Forget(uint32_t file);
  void KeepEveryOther();

  Block BlockOf(uint32_t file, uint64_t chunk) const {
    return {file, chunk / stride_ / kMostOfBlock};
  }
  // The file's blocks, or those of all, are another.
  void MarkAll(uint32_t file);
  void MarkAll();
  std::vector<Place> PlacesOf(const Block& block) const;
  bool LoadBlock(const Block& block, const std::vector<Place>& places);
  bool HoldsTogether() const;

  uint64_t lines_per_chunk_;
  size_t most_places_;
  std::vector<File> files_;
  std::set<uint32_t> untrusted_;  // files
  uint64_t stride_ = 1;           // places of chunks are kept whose number it divides
  size_t size_ = 0;
  bool has_far_ = false;  // of some file

  WholePart saved_trust_{"places"};
  bool is_saved_ = false;
  std::set<Block> changed_;  // since then
};

}  // namespace weir::cluster
