#include "tools/data/column_summary.h"

#include <algorithm>
#include <iomanip>
#include <string>

#include "common/base/strings.h"

namespace weir::tools {
namespace {

std::string Percent(double share) { return Format("%.2f %%", 100 * share); }

}  // namespace

void ColumnSummary::Add(const data::CriteoFields& fields) {
  ++row_count_;
  click_count_ += fields.clicked ? 1 : 0;
  const auto is_missing = [&fields](size_t column) { return (fields.missing >> column & 1) != 0; };
  for (size_t i = 0; i < integers_.size(); ++i) {
    Integer& column = integers_[i];
    if (is_missing(i)) {
      ++column.missing_count;
      continue;
    }
    column.least = std::min(column.least, fields.integers[i]);
    column.greatest = std::max(column.greatest, fields.integers[i]);
    column.sum += static_cast<double>(fields.integers[i]);
  }
  for (size_t i = 0; i < categoricals_.size(); ++i) {
    Categorical& column = categoricals_[i];
    if (is_missing(integers_.size() + i)) {
      ++column.missing_count;
    } else if (column.distinct.size() <= kMaxDistinct) {
      column.distinct.insert(fields.categoricals[i]);
    }
  }
}

int64_t ColumnSummary::most_distinct() const {
  size_t most = 0;
  for (const Categorical& column : categoricals_) most = std::max(most, column.distinct.size());
  return static_cast<int64_t>(most);
}

int64_t ColumnSummary::distinct_count() const {
  size_t count = 0;
  for (const Categorical& column : categoricals_) count += column.distinct.size();
  return static_cast<int64_t>(count);
}

void ColumnSummary::Print(std::ostream& out) const {
  out << "integer       missing         min         max        mean\n";
  for (size_t i = 0; i < integers_.size(); ++i) PrintInteger(i, out);
  out << "categorical   missing    distinct\n";
  for (size_t i = 0; i < categoricals_.size(); ++i) {
    const Categorical& column = categoricals_[i];
    const std::string distinct = column.distinct.size() > kMaxDistinct
                                     ? StrCat("> ", kMaxDistinct)
                                     : StrCat(column.distinct.size());
    out << std::left << std::setw(11) << StrCat("C", i + 1) << std::right << std::setw(10)
        << Percent(Share(column.missing_count)) << std::setw(12) << distinct << "\n";
  }
}

void ColumnSummary::PrintInteger(size_t column, std::ostream& out) const {
  const Integer& integer = integers_[column];
  out << std::left << std::setw(11) << StrCat("I", column + 1) << std::right << std::setw(10)
      << Percent(Share(integer.missing_count));
  const int64_t present = row_count_ - integer.missing_count;
  if (present > 0) {
    out << std::setw(12) << integer.least << std::setw(12) << integer.greatest << std::setw(12)
        << Format("%.2f", integer.sum / static_cast<double>(present));
  }
  out << "\n";
}

double ColumnSummary::Share(int64_t count) const {
  return row_count_ == 0 ? 0.0 : static_cast<double>(count) / static_cast<double>(row_count_);
}

}  // namespace weir::tools
