// A number of a text file: parsed, and transformed as its column's config says.
//
// Place in the life of a batch: read -> **parse** -> batch.
// Thread rule: immutable, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/proto/config.pb.h"
#include "common/proto/learned.pb.h"

namespace weir::data {

// A number in decimal notation that a float can hold; a '+' may precede it. One too small for a
// double is 0. False for everything else.
bool ParseNumber(std::string_view text, double* value);
// What a text that is none would have to be, for messages: "a number", and why it is none where
// that is known.
std::string NumberWantedFor(std::string_view text);

class DenseColumn {
 public:
  // config: with defaults filled in and valid. learned: of this column, if it learns anything.
  DenseColumn(const v1::DenseColumn& config, const v1::LearnedNumber& learned);

  bool learns() const { return standardise_; }

  // What of a value is learned from: it after the transforms before standardise.
  double Prepared(double value) const;
  float Transformed(double value) const;
  // Of a whole number that is not negative.
  float TransformedCount(int64_t value) const {
    if (static_cast<uint64_t>(value) >= looked_up_) return Transformed(static_cast<double>(value));
    return Standardised(logs_[static_cast<size_t>(value)]);
  }
  // The value of a missing field.
  double missing() const { return missing_; }

 private:
  float Standardised(double prepared) const {
    return static_cast<float>(standardise_ ? (prepared - mean_) * scale_ : prepared);
  }

  const double missing_;
  const bool log1p_;
  const double low_, high_;
  const float* const logs_;
  const uint64_t looked_up_;  // counts below it are in logs_, and log1p is their transform
  const bool standardise_;
  const double mean_;
  const double scale_;  // 1 / deviation
};

}  // namespace weir::data
