#include "common/cluster/chunk_order.h"

#include <algorithm>

namespace weir::cluster {

ChunkOrder::ChunkOrder(uint32_t file_count, uint32_t epoch_count)
    : epoch_count_(epoch_count), files_(file_count) {}

std::optional<ChunkKey> ChunkOrder::Next(Seat member, const ChunkPlaces& places) {
  if (exhausted()) return std::nullopt;
  std::optional<uint32_t> file = Choose(member, places);
  if (!file) {
    BeginPass(epoch_ + 1);
    file = Choose(member, places);
  }
  if (!file) return std::nullopt;
  return ChunkKey{.epoch = epoch_, .file = *file, .chunk = files_[*file].next};
}

void ChunkOrder::Take(Seat member, const ChunkKey& key, const ChunkPlaces& places) {
  File& file = files_[key.file];
  if (key.file == next_file_) begun_.push_back(next_file_++);
  if (!file.readers.contains(member) && !IsLeftToOthers(key.file, places)) file.readers.clear();
  file.readers.insert(member);
  ++file.next;
}

bool ChunkOrder::IsLeftToOthers(uint32_t file, const ChunkPlaces& places) const {
  return !files_[file].readers.empty() && places.IsFar(file, files_[file].next);
}

// Of the files of this pass; nothing when all are done.
std::optional<uint32_t> ChunkOrder::Choose(Seat member, const ChunkPlaces& places) {
  std::erase_if(begun_, [&](uint32_t file) { return IsDone(files_[file]); });
  for (const uint32_t file : begun_) {
    if (files_[file].readers.contains(member) || !IsLeftToOthers(file, places)) return file;
  }
  while (next_file_ < files_.size() && IsDone(files_[next_file_])) ++next_file_;
  if (next_file_ < files_.size()) return next_file_;
  if (begun_.empty()) return std::nullopt;
  return *std::ranges::min_element(begun_, {}, [&](uint32_t file) { return files_[file].next; });
}

void ChunkOrder::Forget(Seat member) {
  for (const uint32_t index : begun_) files_[index].readers.erase(member);
}

bool ChunkOrder::exhausted() const {
  const auto is_done = [&](const File& file) { return IsDone(file); };
  const auto is_empty = [](const File& file) { return file.chunk_count == 0; };
  if (!std::ranges::all_of(begun_, [&](uint32_t index) { return is_done(files_[index]); })) {
    return false;
  }
  if (!std::all_of(files_.begin() + next_file_, files_.end(), is_done)) return false;
  return epoch_ + 1 >= epoch_count_ || std::ranges::all_of(files_, is_empty);
}

void ChunkOrder::BeginPass(uint32_t epoch) {
  epoch_ = epoch;
  begun_.clear();
  next_file_ = 0;
  for (File& file : files_) {
    file.next = 0;
    file.readers.clear();
  }
}

void ChunkOrder::Restart() { BeginPass(0); }

uint64_t ChunkOrder::LearnEnd(uint32_t file, uint64_t chunk_count) {
  std::optional<uint64_t>& known = files_[file].chunk_count;
  known = std::min(known.value_or(chunk_count), chunk_count);
  return *known;
}

bool ChunkOrder::IsPastEnd(const ChunkKey& key) const {
  const std::optional<uint64_t>& count = files_[key.file].chunk_count;
  return count && key.chunk >= *count;
}

std::optional<uint64_t> ChunkOrder::chunks_per_epoch() const {
  uint64_t total = 0;
  for (const File& file : files_) {
    if (!file.chunk_count) return std::nullopt;
    total += *file.chunk_count;
  }
  return total;
}

}  // namespace weir::cluster
