// Where chunks begin, as parts of what is saved: of a run that has read much only the few places
// that it has found since are written.
#include <algorithm>
#include <bit>
#include <utility>

#include "common/cluster/chunk_places.h"
#include "common/cluster/part_key.h"

namespace weir::cluster {
namespace {

// Of more chunks than can have numbers.
constexpr uint64_t kMostStride = uint64_t{1} << 48;

}  // namespace

void ChunkPlaces::SetFileCount(uint32_t file_count) {
  MarkAll();
  files_.assign(file_count, {});
  untrusted_.clear();
  size_ = 0;
}

void ChunkPlaces::MarkAll(uint32_t file) {
  if (!is_saved_) return;
  for (const Place& place : files_[file]) changed_.insert(BlockOf(file, place.chunk));
}

void ChunkPlaces::MarkAll() {
  for (uint32_t file = 0; file < file_count(); ++file) MarkAll(file);
}

std::vector<ChunkPlaces::Place> ChunkPlaces::PlacesOf(const Block& block) const {
  if (block.file >= file_count()) return {};
  const File& file = files_[block.file];
  const auto index_of = [&](const Place& place) { return BlockOf(block.file, place.chunk).index; };
  const auto first = std::ranges::lower_bound(file, block.index, {}, index_of);
  return {first, std::ranges::upper_bound(first, file.end(), block.index, {}, index_of)};
}

void ChunkPlaces::SaveChanges(SavedParts* parts) {
  saved_trust_.SaveChanges(*this, parts);
  if (!std::exchange(is_saved_, true)) MarkAll();
  for (const Block& block : changed_) {
    const std::vector<Place> places = PlacesOf(block);
    std::string name = "place/" + WriteKey(block);
    places.empty() ? parts->Remove(std::move(name))
                   : parts->Put(std::move(name), WriteState(places));
  }
  changed_.clear();
}

Status ChunkPlaces::Load(PartSource* source, uint32_t file_count) {
  SetFileCount(file_count);
  WEIR_RETURN_IF_ERROR(saved_trust_.Load(source, this));
  if (!std::has_single_bit(stride_) || stride_ > kMostStride) return source->Damaged("places");
  const auto load = [this](std::string_view name, ByteSpan bytes) {
    Block block;
    std::vector<Place> places;
    StateReader state(bytes);
    state(places);
    return ReadKey(name, &block) && state.done() && LoadBlock(block, places);
  };
  WEIR_RETURN_IF_ERROR(source->TakeEach("place/", load));
  for (File& file : files_) {
    std::ranges::sort(file, {}, &Place::chunk);  // names are in another order
    size_ += file.size();
  }
  is_saved_ = true;
  changed_.clear();
  return HoldsTogether() ? OkStatus() : source->Damaged("place");
}

bool ChunkPlaces::LoadBlock(const Block& block, const std::vector<Place>& places) {
  if (block.file >= file_count() || places.empty()) return false;
  File& file = files_[block.file];
  for (const Place& place : places) {
    if (BlockOf(block.file, place.chunk) != block || place.chunk % stride_ != 0) return false;
    file.push_back(place);
  }
  return true;
}

bool ChunkPlaces::HoldsTogether() const {
  for (uint32_t index = 0; index < file_count(); ++index) {
    const File& file = files_[index];
    if (untrusted_.contains(index) && !file.empty()) return false;
    for (size_t i = 0; i < file.size(); ++i) {
      if (!MayPrecede(i == 0 ? Place() : file[i - 1], file[i])) return false;
    }
  }
  return true;
}

}  // namespace weir::cluster
