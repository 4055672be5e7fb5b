#include "common/store/row_cut.h"

#include <cstring>

#include "common/base/check.h"

namespace weir::store {

RowPartitionStore::~RowPartitionStore() = default;

void RowPartitionStore::BeginCut(std::optional<uint64_t> step) {
  CHECK(cut_ == nullptr) << "one cut at a time";
  cut_ = std::make_unique<Cut>(layout_, rule_);
  cut_->step = step;
  cut_->end = index_.size();
  for (uint32_t slab = 0; slab < slabs_.size(); ++slab) {
    cut_->first_slots[reinterpret_cast<uintptr_t>(slabs_[slab])] = slab * slab_rows_;
  }
}

uint32_t RowPartitionStore::cut_row_count() const { return cut_ == nullptr ? 0 : cut_->end; }

uint32_t RowPartitionStore::cut_rows_read() const { return cut_ == nullptr ? 0 : cut_->next; }

void RowPartitionStore::EndCut() { cut_.reset(); }

// In its place, so that who goes on with the row has what goes on from the cut.
void RowPartitionStore::SettleForCut(std::byte* row) const {
  if (cut_->step) rule_.SettleRow(ValuesOf(row), StateOf(row), *cut_->step);
}

// Who reads a row gets what whoever goes on from the cut does, to the last digit.
void RowPartitionStore::SettleToRead(std::byte* row) const {
  if (cut_->step && IsUnread(row)) SettleForCut(row);
}

// Whether the row is the cut's, and still what it was.
bool RowPartitionStore::IsUnread(const std::byte* row) const {
  const auto address = reinterpret_cast<uintptr_t>(row);
  const uintptr_t offset = address % SlabPool::kSlabBytes;
  const auto slab = cut_->first_slots.find(address - offset);
  if (slab == cut_->first_slots.end()) return false;
  const uint32_t slot = slab->second + static_cast<uint32_t>(offset / row_bytes_);
  if (slot < cut_->next || slot >= cut_->end) return false;
  return cut_->kept.FindSlot(KeyOf(row)) == RowIndex::kAbsent;
}

void RowPartitionStore::Keep(std::byte* row) {
  if (!IsUnread(row)) return;
  SettleForCut(row);
  std::memcpy(cut_->kept.Append(KeyOf(row)), row, row_bytes_);
}

// The next row of the cut, as it was; null behind the last.
std::byte* RowPartitionStore::TakeCutRow() {
  if (cut_rows_read() == cut_row_count()) return nullptr;
  std::byte* const row = Row(cut_->next++);
  if (cut_->kept.row_count() > 0) {
    std::byte* const kept = cut_->kept.RowOrNull(cut_->kept.FindSlot(KeyOf(row)));
    if (kept != nullptr) return kept;
  }
  SettleForCut(row);
  return row;
}

}  // namespace weir::store
