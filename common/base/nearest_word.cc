#include "common/base/nearest_word.h"

#include <algorithm>
#include <numeric>

#include "common/base/strings.h"

namespace weir {
namespace {

std::string Plain(std::string_view word) {
  std::string plain = Lower(word);
  std::erase_if(plain, [](char c) { return c == '_' || c == '-'; });
  return plain;
}

// Levenshtein 1966, a row at a time.
size_t Distance(const std::string& from, const std::string& to) {
  std::vector<size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < from.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < to.size(); ++j) {
      const size_t changed = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string DidYouMean(std::string_view word, const std::vector<std::string>& words) {
  const std::string plain = Plain(word);
  const std::string* nearest = nullptr;
  size_t least = std::max<size_t>(1, plain.size() / 3) + 1;  // a third of its letters is too far
  for (const std::string& other : words) {
    const size_t distance = Distance(plain, Plain(other));
    if (distance >= least) continue;
    least = distance;
    nearest = &other;
  }
  return nearest == nullptr ? "" : StrCat("; did you mean ", *nearest, "?");
}

}  // namespace weir
