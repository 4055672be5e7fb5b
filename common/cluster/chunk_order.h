// In what order chunks are lent: pass after pass, file after file, chunk after chunk. What is far
// within a file, because the file is packed in one piece, is left to the member that is there;
// others begin the next file. Who finds none to begin joins the others where least of a file was
// lent, and stays with it. One member alone gets all in order.
//
// Place in the life of a batch: **lease** -> read -> parse -> ...
// Thread rule: owner thread only.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "common/cluster/chunk_places.h"
#include "common/cluster/membership.h"
#include "common/cluster/saved_map.h"

namespace weir::cluster {

struct ChunkKey {
  uint32_t epoch = 0;
  uint32_t file = 0;
  uint64_t chunk = 0;
  auto operator<=>(const ChunkKey&) const = default;  // NOLINT(modernize-use-nullptr)
  static void Fields(auto& self, auto& state) { state(self.epoch, self.file, self.chunk); }
};

class ChunkOrder {
 public:
  ChunkOrder(uint32_t file_count, uint32_t epoch_count);

  // The next chunk for this member; nothing when all are lent.
  std::optional<ChunkKey> Next(Seat member, const ChunkPlaces& places);
  // That chunk is lent to it.
  void Take(Seat member, const ChunkKey& key, const ChunkPlaces& places);
  // The member is lent a chunk of this file that came back.
  void Stand(Seat member, uint32_t file);
  // It is gone.
  void Forget(Seat member);
  // All was lent.
  bool exhausted() const;
  // To the first chunk of the first pass; what was learned of ends stays.
  void Restart();

  // A file has this many chunks at most. Returns how many are known of then.
  uint64_t LearnEnd(uint32_t file, uint64_t chunk_count);
  bool IsPastEnd(const ChunkKey& key) const;
  // When the ends of all files are known.
  std::optional<uint64_t> chunks_per_epoch() const;
  uint32_t file_count() const { return static_cast<uint32_t>(files_.size()); }
  // Nothing was lent of another number of files.
  void SetFileCount(uint32_t file_count);

  void SaveChanges(SavedParts* parts);
  // Into one of any number of files.
  Status Load(PartSource* source);
  static void Fields(auto& self, auto& state) { state(self.epoch_, self.begun_, self.next_file_); }

 private:
  struct File {
    std::optional<uint64_t> chunk_count;  // once its end was met
    uint64_t next = 0;                    // chunk of this pass
    std::set<Seat> readers;               // who goes on with it where it is far
    static void Fields(auto& self, auto& state) {
      state(self.chunk_count, self.next, self.readers);
    }
  };

  bool IsDone(const File& file) const { return file.chunk_count && file.next >= *file.chunk_count; }
  std::optional<uint32_t> Choose(Seat member, const ChunkPlaces& places);
  bool IsLeftToOthers(uint32_t file, const ChunkPlaces& places) const;
  void BeginPass(uint32_t epoch);

  uint32_t epoch_count_;
  SavedMap<uint32_t, File> files_{"file"};  // 0, 1, ...
  uint32_t epoch_ = 0;
  std::vector<uint32_t> begun_;  // in this pass, and not done
  uint32_t next_file_ = 0;       // to begin
  WholePart saved_order_{"order"};
};

}  // namespace weir::cluster
