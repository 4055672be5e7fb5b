// Which labels of a text file are clicks.
//
// Place in the life of a batch: read -> **parse** -> batch.
// Thread rule: immutable, any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/strings.h"

namespace weir::data {

class Labels {
 public:
  // field: of the config, whose lists these are.
  template <typename Strings>
  Labels(const Strings& positive, const Strings& negative, std::string field)
      : positive_(positive.begin(), positive.end()),
        negative_(negative.begin(), negative.end()),
        field_(std::move(field)) {}

  // 1, 0, or nothing for a label in neither list.
  std::optional<float> Find(std::string_view label) const {
    if (Contains(positive_, label)) return 1.0f;
    if (Contains(negative_, label)) return 0.0f;
    return std::nullopt;
  }

  // What a label in neither list is none of, and where to put it: for messages.
  std::string Known() const {
    return StrCat(StrJoin(positive_, ", "), " (positive) or ", StrJoin(negative_, ", "),
                  " (negative); say what it means in ", field_, ".positive or ", field_,
                  ".negative");
  }

 private:
  static bool Contains(const std::vector<std::string>& labels, std::string_view label) {
    for (const std::string& known : labels) {
      if (known == label) return true;
    }
    return false;
  }

  std::vector<std::string> positive_, negative_;
  std::string field_;
};

}  // namespace weir::data
