#include "common/wire/rice_groups.h"

#include <algorithm>
#include <array>
#include <bit>

#include "common/wire/index_coding.h"

namespace weir::wire {
namespace {

// 0 is no change, odd numbers lead up and even ones down.
uint32_t ChangeCode(uint32_t from, uint32_t to) {
  return to > from ? 2 * (to - from) - 1 : 2 * (from - to);
}

// As a Rice code with parameter 0.
uint32_t ChangeBits(uint32_t from, uint32_t to) { return ChangeCode(from, to) + 1; }

std::span<const uint32_t> GroupOf(std::span<const uint32_t> gaps, size_t group) {
  const size_t begin = group * kRiceGroup;
  return gaps.subspan(begin, std::min(gaps.size() - begin, kRiceGroup));
}

// A group of the list, filled up with zeros.
class Group {
 public:
  explicit Group(std::span<const uint32_t> gaps) : gaps_(gaps.data()), count_(gaps.size()) {
    if (count_ == kRiceGroup) return;
    std::ranges::copy(gaps, padded_.begin());
    gaps_ = padded_.data();
  }

  // Without a change.
  uint64_t Bits(uint32_t parameter) const { return Sum(parameter) + count_ * (parameter + 1); }
  // Near the parameter that suits gaps of this mean.
  uint32_t LikelyParameter() const {
    const auto width = static_cast<uint32_t>(std::bit_width(Sum(0) / count_));
    return std::min(width > 0 ? width - 1 : 0, kMaxIndexRiceParameter);
  }

 private:
  uint32_t Sum(uint32_t shift) const {
    uint32_t sum = 0;
    for (size_t i = 0; i < kRiceGroup; ++i) sum += gaps_[i] >> shift;
    return sum;
  }

  const uint32_t* gaps_;
  size_t count_;
  std::array<uint32_t, kRiceGroup> padded_{};
};

}  // namespace

// The bits of a change are convex in the parameter, as those of the codes are.
uint64_t ChooseRiceParameters(std::span<const uint32_t> gaps, std::vector<uint8_t>* parameters) {
  DCHECK(!gaps.empty());
  parameters->resize((gaps.size() + kRiceGroup - 1) / kRiceGroup);
  const Group first(GroupOf(gaps, 0));
  RiceSize size = BestRiceFrom(first.LikelyParameter(), kMaxIndexRiceParameter,
                               [&](uint32_t k) { return first.Bits(k); });
  uint64_t bits = size.bits;
  (*parameters)[0] = static_cast<uint8_t>(size.parameter);
  for (size_t i = 1; i < parameters->size(); ++i) {
    const Group group(GroupOf(gaps, i));
    const uint32_t before = size.parameter;
    size = BestRiceFrom(before, kMaxIndexRiceParameter,
                        [&](uint32_t k) { return group.Bits(k) + ChangeBits(before, k); });
    bits += size.bits;
    (*parameters)[i] = static_cast<uint8_t>(size.parameter);
  }
  return bits;
}

void WriteRiceGroups(std::span<const uint32_t> gaps, std::span<const uint8_t> parameters,
                     BitWriter* writer) {
  BitWriter local = *writer;  // in registers
  for (size_t i = 0; i < parameters.size(); ++i) {
    const uint32_t parameter = parameters[i];
    if (i > 0) local.WriteRice(ChangeCode(parameters[i - 1], parameter), 0);
    for (const uint32_t gap : GroupOf(gaps, i)) local.WriteRice(gap, parameter);
  }
  *writer = local;
}

std::optional<uint32_t> ChangeRiceParameter(uint32_t parameter, uint64_t change) {
  if (change > 2 * kMaxIndexRiceParameter) return std::nullopt;
  const auto step = static_cast<uint32_t>(change + 1) / 2;
  const bool is_up = change % 2 == 1;
  if (step > (is_up ? kMaxIndexRiceParameter - parameter : parameter)) return std::nullopt;
  return is_up ? parameter + step : parameter - step;
}

}  // namespace weir::wire
