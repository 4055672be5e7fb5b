// The list that the rules of a config write to: one line a violation, "field.path: what is wrong;
// what to do".
//
// Thread rule: thread-compatible.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/base/strings.h"

namespace weir::config {

class Violations {
 public:
  template <typename... Parts>
  void Add(std::string_view path, const Parts&... what) {
    lines_.push_back(StrCat(path, ": ", what...));
  }

  // NaN is in no range.
  template <typename T>
  void RequireRange(std::string_view path, T value, std::type_identity_t<T> low,
                    std::type_identity_t<T> high) {
    if (value >= low && value <= high) return;
    Add(path, value, " is out of range; choose from ", low, " to ", high);
  }

  size_t size() const { return lines_.size(); }
  std::vector<std::string> Take() { return std::move(lines_); }

 private:
  std::vector<std::string> lines_;
};

}  // namespace weir::config
