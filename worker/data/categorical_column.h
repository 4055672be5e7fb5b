// The values of a categorical field of a text file, as ids of their table.
//
// Place in the life of a batch: read -> **parse** -> batch.
// Thread rule: immutable, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "common/proto/config.pb.h"
#include "common/proto/learned.pb.h"
#include "worker/data/csv_fields.h"

namespace weir::data {

// Ids that stand for no value of their own.
inline constexpr uint64_t kMissingId = 0;
inline constexpr uint64_t kRareId = 1;  // of columns with a minimum_frequency

class CategoricalColumn {
 public:
  // config: with defaults filled in and valid. learned: of this column, if it learns anything.
  CategoricalColumn(const v1::CategoricalColumn& config, const v1::LearnedValues& learned);

  bool learns() const { return learns_; }
  bool is_list() const { return !separator_.empty(); }

  // What tells a value apart from others; nothing when the encoding cannot read it. What is learned
  // is how often a key comes.
  std::optional<uint64_t> Key(std::string_view value) const;
  uint64_t IdOfKey(uint64_t key) const;

  // Calls use(value) for each value of a field that is not missing, without spaces around it; ends
  // at the first false, and returns it. Nothing between two separators is no value.
  template <typename Use>
  bool ForEachValue(std::string_view field, const Use& use) const;

  // What the encoding reads, for messages: "a number".
  std::string Wanted() const;

 private:
  const v1::CategoricalColumn::EncodingCase encoding_;
  const std::string separator_;
  const std::vector<double> boundaries_;
  const bool learns_;
  const uint64_t first_id_;  // of values
  const uint64_t id_count_;
  const std::unordered_set<uint64_t> frequent_;
};

template <typename Use>
bool CategoricalColumn::ForEachValue(std::string_view field, const Use& use) const {
  if (!is_list()) return use(field);
  while (true) {
    const size_t stop = field.find(separator_);
    const std::string_view value = Trim(field.substr(0, stop));
    if (!value.empty() && !use(value)) return false;
    if (stop == std::string_view::npos) return true;
    field.remove_prefix(stop + separator_.size());
  }
}

}  // namespace weir::data
