#include "worker/data/dense_column.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

#include "worker/data/dense_transform.h"

namespace weir::data {

namespace {

// A whole number of so few digits is a double.
constexpr size_t kExactDigits = 15;
constexpr double kMaxExact = 1e15;

// Most numbers are short and whole.
bool ParseDigits(std::string_view text, double* value) {
  if (text.empty() || text.size() > kExactDigits) return false;
  int64_t whole = 0;
  bool good = true;
  for (const char c : text) {
    good &= c >= '0' && c <= '9';
    whole = 10 * whole + (c - '0');
  }
  *value = static_cast<double>(whole);
  return good;
}

// Counts as other readers give them.
double Log1p(double value) {
  const auto whole = static_cast<int64_t>(std::min(value, kMaxExact));
  return static_cast<double>(whole) == value ? LogCount(whole) : std::log1p(value);
}

}  // namespace

bool ParseNumber(std::string_view text, double* value) {
  if (ParseDigits(text, value)) return true;
  const bool plus = text.starts_with('+');
  if (plus) text.remove_prefix(1);
  if (text.empty() || (plus && (text[0] == '+' || text[0] == '-'))) return false;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *value);
  return error == std::errc() && stop == end &&
         std::abs(*value) <= std::numeric_limits<float>::max();
}

DenseColumn::DenseColumn(const v1::DenseColumn& config, const v1::LearnedNumber& learned)
    : missing_(config.missing()),
      log1p_(config.has_log1p()),
      low_(config.log1p().low()),
      high_(config.log1p().high()),
      logs_(SmallLogs().data()),
      looked_up_(log1p_ && low_ <= 0 && high_ >= static_cast<double>(SmallLogs().size())
                     ? SmallLogs().size()
                     : 0),
      standardise_(config.has_standardise()),
      mean_(learned.mean()),
      scale_(learned.deviation() > 0 ? 1 / learned.deviation() : 0) {}

double DenseColumn::Prepared(double value) const {
  return log1p_ ? Log1p(std::clamp(value, low_, high_)) : value;
}

float DenseColumn::Transformed(double value) const { return Standardised(Prepared(value)); }

}  // namespace weir::data
