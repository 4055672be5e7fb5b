#include "server/coordinator/save_book.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "server/coordinator/part_totals.h"

namespace weir::server {
namespace {

constexpr char kLearned[] = "learned";

}  // namespace

SaveBook::SaveBook(const v1::DataConfig& data, uint32_t server_count)
    : data_(data), server_count_(server_count) {}

void SaveBook::Expect(std::optional<v1::LearnedColumns> learned) {
  ExpectLearned(std::move(learned));
}

void SaveBook::TakeLearned(const v1::LearnedColumns& learned) {
  const bool fits = learned.dense_size() == data_.csv().dense_size() &&
                    learned.categorical_size() == data_.csv().categorical_size();
  if (wants_learned() && fits) learned_ = learned;
}

void SaveBook::Take(uint32_t server, const v1::PartReport& part) {
  if (!has_begun_ || server >= server_count_) return;
  const auto known = parts_.find(server);
  if (known == parts_.end() || !known->second.is_done()) parts_.Change(server) = part;
}

bool SaveBook::is_whole() const { return has_begun_ && late().empty(); }

uint64_t SaveBook::progress() const {
  uint64_t progress = 1;
  for (const auto& [server, part] : parts_) {
    progress += part.written_bytes() + (part.is_done() ? 1 : 0);
  }
  return std::max<uint64_t>(1, progress);  // a peer's numbers may be any
}

std::vector<uint32_t> SaveBook::late() const {
  std::vector<uint32_t> late;
  for (uint32_t server = 0; server < server_count_; ++server) {
    const auto found = parts_.find(server);
    if (found == parts_.end() || !found->second.is_done()) late.push_back(server);
  }
  return late;
}

Result<v1::SavedModelManifest> SaveBook::Manifest() const {
  if (!learned_) {
    return FailedPrecondition("no trainer has told what the columns of the data have learned");
  }
  v1::SavedModelManifest manifest;
  *manifest.mutable_learned() = *learned_;
  AddParts(parts_, &manifest);
  return manifest;
}

// What columns have learned is told once, and may be much.
void SaveBook::SaveChanges(cluster::SavedParts* parts) {
  saved_begin_.SaveChanges(has_begun_, parts);
  parts_.SaveChanges(parts);
  if (!learned_ || std::exchange(is_learned_saved_, true)) return;
  parts->Put(kLearned, cluster::WriteState(*learned_));
}

Status SaveBook::Load(cluster::PartSource* source) {
  WEIR_RETURN_IF_ERROR(saved_begin_.Load(source, &has_begun_));
  WEIR_RETURN_IF_ERROR(parts_.Load(source));
  for (const auto& entry : parts_) {
    if (entry.first >= server_count_) return source->Damaged("written");
  }
  return source->TakeEach(kLearned, [this](std::string_view rest, ByteSpan bytes) {
    cluster::StateReader state(bytes);
    state(learned_.emplace());
    is_learned_saved_ = true;
    return rest.empty() && state.done();
  });
}

}  // namespace weir::server
