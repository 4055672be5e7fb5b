#include "common/store/row_index.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace weir::store {

void RowIndex::BeginMove() {
  const auto bits = static_cast<uint32_t>(std::bit_width(arrays_[0].mask()));
  CHECK_LT(bits, IndexEntries::kMaxBits)
      << "a row partition holds at most 1.2e9 rows; use more partitions";
  arrays_[1] = IndexEntries(bits + 1);
  first_ = 0;
  while (arrays_[0].At(first_) != kAbsent) ++first_;
  // What comes to a run at the array's end goes on at its start, in places that have moved too, and
  // moves last. So the first place's page stays to the end.
  constexpr uint32_t kPage = IndexEntries::kPagePlaces;
  given_back_ = (first_ / kPage + 1) * kPage;
}

// Of the old array what has moved, a page at a time; at the end all.
void RowIndex::GiveBack() {
  const uint32_t end = std::min(first_ + moved_, arrays_[0].size());
  for (; end >= given_back_ + IndexEntries::kPagePlaces; given_back_ += IndexEntries::kPagePlaces) {
    arrays_[0].GiveBack(given_back_);
  }
  if (moved_ < arrays_[0].size()) return;
  arrays_[0] = std::exchange(arrays_[1], IndexEntries());
  moved_ = 0;
}

}  // namespace weir::store
