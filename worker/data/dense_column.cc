#include "worker/data/dense_column.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <system_error>

#include "worker/data/dense_transform.h"

namespace weir::data {

namespace {

// A whole number of so few digits is a double.
constexpr size_t kExactDigits = 15;
constexpr double kMaxExact = 1e15;

// Of a number that is looked at for a message.
constexpr size_t kMostCharacters = 400;

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
  if (stop != end) return false;
  // Beyond a double, at its lower end or at its upper one.
  if (error == std::errc::result_out_of_range)
    *value = std::strtod(std::string(text).c_str(), nullptr);
  const bool is_number = error == std::errc() || error == std::errc::result_out_of_range;
  return is_number && std::abs(*value) <= std::numeric_limits<float>::max();
}

std::string NumberWantedFor(std::string_view text) {
  std::string number(text.substr(0, kMostCharacters));
  char* stop = nullptr;
  const double value = std::strtod(number.c_str(), &stop);
  const bool is_whole = !number.empty() && *stop == '\0' && number.size() == text.size();
  if (is_whole && number.find_first_of("xX") != std::string::npos) return "a decimal number";
  if (is_whole && number.find_first_of("nN") != std::string::npos) {
    return "a finite number; where it stands for a missing value, name it in data.csv.missing";
  }
  if (is_whole && std::abs(value) > std::numeric_limits<float>::max()) {
    return "a number that a float can hold, up to 3.4e38";
  }
  std::erase_if(number, [](char c) { return c == ',' || c == ' ' || c == '_' || c == '\''; });
  double joined = 0;
  if (number.size() < text.size() && ParseNumber(number, &joined)) {
    return "a number with a point before its decimals and nothing else between its digits";
  }
  return "a number";
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
