#include "worker/data/categorical_column.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <system_error>

#include "common/base/check.h"
#include "worker/data/dense_column.h"

namespace weir::data {
namespace {

template <typename Integer>
std::optional<uint64_t> ParseAs(std::string_view text) {
  Integer value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return static_cast<uint64_t>(value);
}

// With a sign or without: those from 2^63 on, which hashes are half the time, too.
std::optional<uint64_t> ParseInteger(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  const std::optional<uint64_t> key = ParseAs<int64_t>(text);
  return key ? key : ParseAs<uint64_t>(text);
}

}  // namespace

CategoricalColumn::CategoricalColumn(const v1::CategoricalColumn& config,
                                     const v1::LearnedValues& learned)
    : encoding_(config.encoding_case()),
      separator_(config.separator()),
      boundaries_(config.bucketise().boundaries().begin(), config.bucketise().boundaries().end()),
      learns_(config.minimum_frequency() > 0),
      first_id_(learns_ ? kRareId + 1 : kMissingId + 1),
      id_count_(static_cast<uint64_t>(config.rows()) - first_id_),
      frequent_(learned.frequent().begin(), learned.frequent().end()) {
  CHECK_GT(static_cast<uint64_t>(config.rows()), first_id_);
}

// Short values by themselves, without a function that is made for long ones.
uint64_t CategoricalColumn::Hash(std::string_view value) {
  if (value.size() > sizeof(uint64_t)) return XXH3_64bits(value.data(), value.size());
  uint64_t word = 0;
  std::memcpy(&word, value.data(), value.size());
  return HashShort(word, value.size());
}

std::optional<uint64_t> CategoricalColumn::Key(std::string_view value) const {
  switch (encoding_) {
    case v1::CategoricalColumn::kHash:
      return Hash(value);
    case v1::CategoricalColumn::kInteger:
      return ParseInteger(value);
    case v1::CategoricalColumn::kBucketise: {
      double number = 0;
      if (!ParseNumber(value, &number)) return std::nullopt;
      const auto above = std::ranges::upper_bound(boundaries_, number);
      return static_cast<uint64_t>(above - boundaries_.begin());
    }
    case v1::CategoricalColumn::ENCODING_NOT_SET:
      break;
  }
  LOG(FATAL) << "defaults choose an encoding";
  return std::nullopt;
}

uint64_t CategoricalColumn::IdOfKey(uint64_t key) const {
  if (learns_ && !frequent_.contains(key)) return kRareId;
  // All bits of a hash are as good, and a product is sooner there than a remainder.
  const bool is_hash = encoding_ == v1::CategoricalColumn::kHash;
  return first_id_ + (is_hash ? HighProduct(key, id_count_) : key % id_count_);
}

std::string CategoricalColumn::Wanted() const {
  return encoding_ == v1::CategoricalColumn::kInteger ? "a whole number within 64 bits"
                                                      : "a number";
}

}  // namespace weir::data
