// One line of a Criteo click log: label, 13 integers, 26 hexadecimal categoricals, tab-separated;
// an empty field is missing.
//
// Place in the life of a batch: read -> **parse** -> batch.
// Thread rule: pure function, any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "worker/data/batch.h"

namespace weir::data {

inline constexpr size_t kCriteoDenseCount = 13;
inline constexpr size_t kCriteoTableCount = 26;

// The values as they stand in the line; missing ones are 0.
struct CriteoFields {
  bool clicked = false;
  std::array<int64_t, kCriteoDenseCount> integers;
  std::array<uint32_t, kCriteoTableCount> categoricals;
  uint64_t missing = 0;  // bit i: integer i; bit kCriteoDenseCount + i: categorical i
};

// Reads the label, and the integers and categoricals that are chosen; fields that are not are not
// looked at. Returns what is wrong with the line, for a person to read; empty when nothing is.
// fields is half written when something is wrong.
std::string ParseCriteoLine(std::string_view line, CriteoFields* fields,
                            const ColumnChoice& choice = {});

}  // namespace weir::data
