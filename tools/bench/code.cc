// Coding: gradient frames of one large piece, written by the class that workers write with, read by
// the one that servers read with, checksums included, and applied. Positions are random, so H(d)/d
// bits an index are the bound at density d.
//
// What the machine could do is memcpy of the selected elements as 6 bytes each, index and value.

#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "common/base/strings.h"
#include "tools/bench/code_apply.h"
#include "tools/bench/coded_gradient.h"
#include "tools/bench/measure.h"
#include "tools/bench/sections.h"

namespace weir::bench {
namespace {

constexpr uint32_t kElements = kSide * kSide, kQuickElements = kElements / 8;
constexpr double kGoalMillions = 100;
constexpr double kGoalOverBound = 1.03;

struct Density {
  double fraction;
  const char* name;
};
constexpr Density kRiceDensities[] = {{0.1, "10%"}, {0.05, "5%"}, {0.01, "1%"}, {0.001, "0.1%"}};
constexpr Density kGoalDensity = kRiceDensities[2];
constexpr Density kBitmapDensity = {0.6, "60%"};

// goal_millions: 0 for none.
Line RateLine(const std::string& name, double millions, double memcpy_millions,
              double goal_millions) {
  return {.name = "code/" + name,
          .value = millions,
          .unit = "M elements/s",
          .peer = "memcpy, 6 bytes an element",
          .peer_value = memcpy_millions,
          .goal = goal_millions / memcpy_millions};
}

Line IndexBitsLine(const Density& density, const Selection& selection, const Coder& coder) {
  const double d = static_cast<double>(selection.count) / selection.element_count;
  return {.name = StrCat("code/index_bits/", density.name),
          .value = coder.IndexBits() / static_cast<double>(selection.count),
          .unit = "bits/index",
          .peer = "H(d)/d",
          .peer_value = (-d * std::log2(d) - (1 - d) * std::log2(1 - d)) / d,
          .goal = 1 / kGoalOverBound,
          .better = Better::kLess};
}

Status AddCodingLines(const Options& options, const Density& density, const std::string& coding,
                      const Selection& selection, Lines* lines) {
  Coder coder(selection);
  WEIR_RETURN_IF_ERROR(coder.Verify());
  Bytes pairs(6 * selection.count, 1), copy(pairs.size());
  const auto rates = MedianMillions(
      options, selection,
      {[&] { coder.Encode(); }, [&] { KeepAlive(coder.Decode().ok() ? &coder : nullptr); },
       [&] {
         std::memcpy(copy.data(), pairs.data(), pairs.size());
         KeepAlive(copy.data());
       }});
  const double goal = density.fraction == kGoalDensity.fraction ? kGoalMillions : 0;
  for (const auto& [name, rate] :
       {std::pair("encode_", rates[0]), std::pair("decode_", rates[1])}) {
    const std::string line = StrCat(name, coding, "_bf16/", density.name);
    lines->push_back(RateLine(line, rate, rates[2], goal));
  }
  if (coding == "rice") lines->push_back(IndexBitsLine(density, selection, coder));
  return OkStatus();
}

}  // namespace

Result<Lines> BenchCode(const Options& options) {
  const uint32_t elements = options.quick ? kQuickElements : kElements;
  Lines lines;
  for (const Density& density : kRiceDensities) {
    const Selection selection(elements, density.fraction);
    WEIR_RETURN_IF_ERROR(AddCodingLines(options, density, "rice", selection, &lines));
  }
  const Selection bitmap(elements, kBitmapDensity.fraction);
  WEIR_RETURN_IF_ERROR(AddCodingLines(options, kBitmapDensity, "bitmap", bitmap, &lines));
  WEIR_RETURN_IF_ERROR(
      AddApplyLines(options, elements, kGoalDensity.fraction, kGoalDensity.name, &lines));
  return lines;
}

}  // namespace weir::bench
