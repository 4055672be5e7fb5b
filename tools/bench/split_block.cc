#include "tools/bench/split_block.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <vector>

#include "common/base/random.h"
#include "common/base/strings.h"

namespace weir::bench {
namespace {

const int64_t kStride = kernels::PaddedStride(Block::kSamples);

bool IsRounded(float value, float of) { return std::fabs(value - of) <= std::fabs(of) / 128; }

}  // namespace

Block::Block(uint64_t seed) : values_(static_cast<size_t>(kWidth * kStride)) {
  RandomStream random(seed);
  for (float& value : values_.span()) {
    value = static_cast<float>(std::max(0.0, random.NextNormal()));
  }
}

kernels::MatrixView Block::view() { return {values_.data(), kWidth, kSamples, kStride}; }

void Block::CopyTo(Block* other) {
  for (int64_t f = 0; f < kWidth; ++f) {
    std::memcpy(other->view().row(f), view().row(f), kSamples * sizeof(float));
  }
}

Status VerifyLargest(int64_t keep, Block& sent, Block& arrived, Block& gradient_sent,
                     Block& gradient_arrived) {
  for (int64_t s = 0; s < Block::kSamples; ++s) {
    std::vector<float> column;
    for (int64_t f = 0; f < Block::kWidth; ++f) column.push_back(sent.At(f, s));
    std::ranges::sort(column, std::greater<>());
    const float least = column[static_cast<size_t>(keep - 1)];
    for (int64_t f = 0; f < Block::kWidth; ++f) {
      const float value = sent.At(f, s);
      const bool is_kept = value >= least && value > 0;
      const bool is_right =
          IsRounded(arrived.At(f, s), is_kept ? value : 0) &&
          IsRounded(gradient_arrived.At(f, s), is_kept ? gradient_sent.At(f, s) : 0);
      if (!is_right) return Internal(StrCat("sample ", s, " arrived with a wrong feature ", f));
    }
  }
  return OkStatus();
}

}  // namespace weir::bench
