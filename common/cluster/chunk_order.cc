#include "common/cluster/chunk_order.h"

#include <algorithm>

namespace weir::cluster {

ChunkOrder::ChunkOrder(uint32_t file_count, uint32_t epoch_count) : epoch_count_(epoch_count) {
  SetFileCount(file_count);
}

void ChunkOrder::SetFileCount(uint32_t file_count) {
  files_.Clear();
  for (uint32_t file = 0; file < file_count; ++file) files_.Add(file);
  BeginPass(0);
}

std::optional<ChunkKey> ChunkOrder::Next(Seat member, const ChunkPlaces& places) {
  if (exhausted()) return std::nullopt;
  std::optional<uint32_t> file = Choose(member, places);
  if (!file) {
    BeginPass(epoch_ + 1);
    file = Choose(member, places);
  }
  if (!file) return std::nullopt;
  return ChunkKey{.epoch = epoch_, .file = *file, .chunk = files_.at(*file).next};
}

void ChunkOrder::Take(Seat member, const ChunkKey& key, const ChunkPlaces& places) {
  File& file = files_.Change(key.file);
  if (key.file == next_file_) begun_.push_back(next_file_++);
  if (!file.readers.contains(member) && !IsLeftToOthers(key.file, places)) file.readers.clear();
  file.readers.insert(member);
  ++file.next;
}

void ChunkOrder::Stand(Seat member, uint32_t file) {
  if (!files_.at(file).readers.contains(member)) files_.Change(file).readers.insert(member);
}

bool ChunkOrder::IsLeftToOthers(uint32_t file, const ChunkPlaces& places) const {
  return !files_.at(file).readers.empty() && places.IsFar(file, files_.at(file).next);
}

// Of the files of this pass; nothing when all are done.
std::optional<uint32_t> ChunkOrder::Choose(Seat member, const ChunkPlaces& places) {
  std::erase_if(begun_, [&](uint32_t file) { return IsDone(files_.at(file)); });
  for (const uint32_t file : begun_) {
    if (files_.at(file).readers.contains(member) || !IsLeftToOthers(file, places)) return file;
  }
  while (next_file_ < files_.size() && IsDone(files_.at(next_file_))) ++next_file_;
  if (next_file_ < files_.size()) return next_file_;
  if (begun_.empty()) return std::nullopt;
  return *std::ranges::min_element(begun_, {}, [&](uint32_t file) { return files_.at(file).next; });
}

void ChunkOrder::Forget(Seat member) {
  for (const uint32_t file : begun_) {
    if (files_.at(file).readers.contains(member)) files_.Change(file).readers.erase(member);
  }
}

bool ChunkOrder::exhausted() const {
  const auto is_done = [&](uint32_t file) { return IsDone(files_.at(file)); };
  const auto is_empty = [](const auto& entry) { return entry.second.chunk_count == 0; };
  if (!std::ranges::all_of(begun_, is_done)) return false;
  for (uint32_t file = next_file_; file < file_count(); ++file) {
    if (!is_done(file)) return false;
  }
  return epoch_ + 1 >= epoch_count_ || std::ranges::all_of(files_, is_empty);
}

void ChunkOrder::BeginPass(uint32_t epoch) {
  epoch_ = epoch;
  begun_.clear();
  next_file_ = 0;
  for (uint32_t index = 0; index < file_count(); ++index) {
    File& file = files_.Change(index);
    file.next = 0;
    file.readers.clear();
  }
}

void ChunkOrder::Restart() { BeginPass(0); }

uint64_t ChunkOrder::LearnEnd(uint32_t file, uint64_t chunk_count) {
  const std::optional<uint64_t>& known = files_.at(file).chunk_count;
  if (!known || *known > chunk_count) files_.Change(file).chunk_count = chunk_count;
  return *known;
}

bool ChunkOrder::IsPastEnd(const ChunkKey& key) const {
  const std::optional<uint64_t>& count = files_.at(key.file).chunk_count;
  return count && key.chunk >= *count;
}

std::optional<uint64_t> ChunkOrder::chunks_per_epoch() const {
  uint64_t total = 0;
  for (const auto& [index, file] : files_) {
    if (!file.chunk_count) return std::nullopt;
    total += *file.chunk_count;
  }
  return total;
}

void ChunkOrder::SaveChanges(SavedParts* parts) {
  saved_order_.SaveChanges(*this, parts);
  files_.SaveChanges(parts);
}

Status ChunkOrder::Load(PartSource* source) {
  WEIR_RETURN_IF_ERROR(saved_order_.Load(source, this));
  WEIR_RETURN_IF_ERROR(files_.Load(source));
  uint32_t count = 0;
  for (const auto& entry : files_) {
    if (entry.first != count++) return source->Damaged("file");
  }
  const auto is_file = [&](uint32_t file) { return file < count; };
  const bool is_sound = epoch_ < std::max(epoch_count_, 1u) && next_file_ <= count &&
                        std::ranges::all_of(begun_, is_file);
  return is_sound ? OkStatus() : source->Damaged("order");
}

}  // namespace weir::cluster
