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

#include "common/base/random.h"
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

  // Whether short values may go the way of IdOfShort.
  bool hashes_alone() const { return encoding_ == v1::CategoricalColumn::kHash && !learns_; }
  // The same of a value of at most eight characters, in the low bytes of a word; of an empty one,
  // the id of what is missing.
  uint64_t IdOfShort(uint64_t word, size_t length) const {
    const uint64_t id = first_id_ + HighProduct(HashShort(word, length), id_count_);
    return length == 0 ? kMissingId : id;
  }

  // Calls use(value) for each value of a field that is not missing, without spaces around it; ends
  // at the first false, and returns it. Nothing between two separators is no value.
  template <typename Use>
  bool ForEachValue(std::string_view field, const Use& use) const;

  // What the encoding reads, for messages: "a number".
  std::string Wanted() const;

 private:
  static uint64_t HighProduct(uint64_t a, uint64_t b) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(a) * b) >> 64);
  }
  // Values of other lengths may have the same word: they differ by NULs.
  static uint64_t HashShort(uint64_t word, size_t length) {
    constexpr uint64_t kOddBits = 0x9e3779b97f4a7c15;
    return Mix64(word + length * kOddBits);
  }
  static uint64_t Hash(std::string_view value);

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
