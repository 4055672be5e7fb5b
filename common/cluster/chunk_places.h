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
#include <vector>

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

 private:
  struct Place {
    uint64_t chunk = 0;
    uint64_t entry = 0, behind = 0;
    uint64_t text_lines = 0;
  };
  struct File {
    bool is_trusted = true;
    std::vector<Place> places;  // by chunk
  };

  // Whether a chunk that begins at the one place can be before one that begins at the other.
  bool MayPrecede(const Place& first, const Place& second) const;
  bool Fits(const File& file, size_t index, const Place& place) const;
  void Forget(File* file);
  void KeepEveryOther();

  uint64_t lines_per_chunk_;
  size_t most_places_;
  std::vector<File> files_;
  uint64_t stride_ = 1;  // places of chunks are kept whose number it divides
  size_t size_ = 0;
  bool has_far_ = false;  // of some file
};

}  // namespace weir::cluster
