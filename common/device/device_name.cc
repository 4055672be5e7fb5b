#include "common/device/device_name.h"

#include <charconv>

#include "common/base/strings.h"

namespace weir::device {
namespace {

// Whole, in decimal digits, from 0 to most.
bool ParseNumber(std::string_view text, size_t most, size_t* number) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *number);
  return error == std::errc() && stop == end && !text.empty() && *number <= most;
}

constexpr size_t kMostCards = 1023;
constexpr size_t kMostGibibytes = 4095;

}  // namespace

Result<DeviceName> ParseDeviceName(std::string_view text) {
  if (text == "cpu") return DeviceName{};
  constexpr std::string_view kCuda = "cuda:";
  size_t number = 0;
  if (text.starts_with(kCuda) && ParseNumber(text.substr(kCuda.size()), kMostCards, &number)) {
    return DeviceName{.is_cuda = true, .number = static_cast<int>(number)};
  }
  return InvalidData(
      StrCat("'", text, "' is no device; there are cpu, and cuda:0 for the first card"));
}

Result<size_t> ParseMemorySize(std::string_view text) {
  if (text.empty()) return size_t{0};
  size_t number = 0;
  if (text.ends_with("GiB") &&
      ParseNumber(text.substr(0, text.size() - 3), kMostGibibytes, &number) && number > 0) {
    return number << 30;
  }
  if (text.ends_with("MiB") &&
      ParseNumber(text.substr(0, text.size() - 3), kMostGibibytes << 10, &number) && number > 0) {
    return number << 20;
  }
  return InvalidData(StrCat("'", text, "' is no size of memory; write 24GiB or 800MiB"));
}

}  // namespace weir::device
