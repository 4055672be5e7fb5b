#include "common/cluster/chunk_places.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

namespace weir::cluster {

ChunkPlaces::ChunkPlaces(uint32_t file_count, uint64_t lines_per_chunk, size_t most_places)
    : lines_per_chunk_(lines_per_chunk), most_places_(most_places), files_(file_count) {}

bool ChunkPlaces::Learn(uint32_t index, const v1::ChunkPlace& told) {
  if (index >= files_.size() || told.chunk() == 0) return true;
  if (untrusted_.contains(index)) return true;
  File& file = files_[index];
  const Place place{told.chunk(), told.entry(), told.behind(), told.text_lines()};
  const auto at = std::ranges::lower_bound(file, place.chunk, {}, &Place::chunk);
  if (!Fits(file, static_cast<size_t>(at - file.begin()), place)) {
    Forget(index);
    return false;
  }
  has_far_ = has_far_ || place.behind >= kFarBytes;
  const bool is_known = at != file.end() && at->chunk == place.chunk;
  if (is_known || place.chunk % stride_ != 0) return true;
  file.insert(at, place);
  if (is_saved_) changed_.insert(BlockOf(index, place.chunk));
  if (++size_ > most_places_) KeepEveryOther();
  return true;
}

// index: of the first place in the file whose chunk is not before this one.
bool ChunkPlaces::Fits(const File& file, size_t index, const Place& place) const {
  if (!MayPrecede({}, place)) return false;
  if (index > 0 && !MayPrecede(file[index - 1], place)) return false;
  if (index == file.size()) return true;
  const Place& next = file[index];
  if (next.chunk != place.chunk) return MayPrecede(place, next);
  return std::tie(next.entry, next.behind, next.text_lines) ==
         std::tie(place.entry, place.behind, place.text_lines);
}

bool ChunkPlaces::MayPrecede(const Place& first, const Place& second) const {
  if (std::tie(first.entry, first.behind) >= std::tie(second.entry, second.behind)) return false;
  if (first.text_lines >= second.text_lines) return false;
  return (second.text_lines - first.text_lines) / lines_per_chunk_ >= second.chunk - first.chunk;
}

void ChunkPlaces::Forget(uint32_t file) {
  MarkAll(file);
  size_ -= files_[file].size();
  files_[file] = {};
  untrusted_.insert(file);
}

void ChunkPlaces::KeepEveryOther() {
  MarkAll();
  stride_ *= 2;
  size_ = 0;
  for (File& file : files_) {
    std::erase_if(file, [&](const Place& place) { return place.chunk % stride_ != 0; });
    size_ += file.size();
  }
  MarkAll();
}

std::optional<v1::ChunkPlace> ChunkPlaces::Find(uint32_t index, uint64_t chunk) const {
  if (index >= files_.size()) return std::nullopt;
  const File& places = files_[index];
  const auto behind = std::ranges::upper_bound(places, chunk, {}, &Place::chunk);
  if (behind == places.begin()) return std::nullopt;
  const Place& found = *std::prev(behind);
  v1::ChunkPlace place;
  place.set_chunk(found.chunk);
  place.set_entry(found.entry);
  place.set_behind(found.behind);
  place.set_text_lines(found.text_lines);
  return place;
}

bool ChunkPlaces::IsFar(uint32_t file, uint64_t chunk) const {
  if (chunk == 0) return false;
  const auto place = Find(file, chunk);
  if (!place) return has_far_;
  return place->behind() >= kFarBytes || (has_far_ && place->entry() == 0);
}

bool ChunkPlaces::Wants(uint32_t index, uint64_t chunk) const {
  if (index >= files_.size() || untrusted_.contains(index) || chunk % stride_ != 0) return false;
  return !std::ranges::binary_search(files_[index], chunk, {}, &Place::chunk);
}

}  // namespace weir::cluster
