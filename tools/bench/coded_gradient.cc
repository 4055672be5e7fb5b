#include "tools/bench/coded_gradient.h"

#include "common/base/random.h"
#include "common/base/strings.h"
#include "tools/bench/measure.h"

namespace weir::bench {
namespace {

constexpr auto kCoding = wire::ValueCoding::kBf16;

// Selected elements that one timing handles at least.
constexpr size_t kElementsPerTiming = 1'000'000;

}  // namespace

Selection::Selection(uint32_t element_count_in, double density) : element_count(element_count_in) {
  RandomStream random(1, element_count_in, static_cast<uint64_t>(1e6 * density));
  for (uint32_t begin = 0; begin < element_count; begin += kStripe) {
    SelectedStripe& stripe = stripes.emplace_back();
    for (uint32_t i = 0; i < kStripe; ++i) {
      if (random.NextUnit() >= density) continue;
      stripe.indexes.push_back(static_cast<uint16_t>(i));
      stripe.values.push_back(wire::Round(static_cast<float>(random.NextNormal()), kCoding));
    }
    count += stripe.indexes.size();
  }
}

int Selection::rounds() const { return static_cast<int>(kElementsPerTiming / count) + 1; }

void Coder::Encode() {
  bytes_.clear();
  writer_.Open(&bytes_, wire::FrameKind::kGradient, kSquareTensor, 0, kCoding);
  for (uint32_t i = 0; i < selection_.stripes.size(); ++i) {
    writer_.Append(i, kStripe, selection_.stripes[i].indexes, selection_.stripes[i].values);
  }
  writer_.Finish();
}

Status Coder::Decode() {
  wire::FrameCursor cursor(bytes_);
  WEIR_ASSIGN_OR_RETURN(const wire::FrameView frame, cursor.Next());
  return reader_.Read(frame, selection_.element_count);
}

Status Coder::Verify() {
  Encode();
  WEIR_RETURN_IF_ERROR(Decode());
  return VerifyDecoded();
}

Status Coder::VerifyDecoded() const {
  std::vector<SelectedStripe> decoded(selection_.stripes.size());
  for (const wire::StripeUpdate& update : reader_.stripes()) {
    decoded[update.stripe] = {{update.indexes.begin(), update.indexes.end()},
                              {update.values.begin(), update.values.end()}};
  }
  for (size_t i = 0; i < decoded.size(); ++i) {
    if (decoded[i].indexes != selection_.stripes[i].indexes ||
        decoded[i].values != selection_.stripes[i].values) {
      return Internal(StrCat("stripe ", i, " is not what was encoded"));
    }
  }
  return OkStatus();
}

double Coder::IndexBits() const {
  const size_t payload_bytes = wire::FrameCursor(bytes_).Next().value().payload.size();
  return static_cast<double>(8 * (payload_bytes - wire::ValueBytes(kCoding, selection_.count)));
}

std::vector<double> MedianMillions(const Options& options, const Selection& selection,
                                   const std::vector<std::function<void()>>& works) {
  std::vector<std::function<void()>> repeated;
  for (const auto& work : works) {
    repeated.push_back([&] {
      for (int i = 0; i < selection.rounds(); ++i) work();
    });
  }
  std::vector<double> medians = MedianSeconds(options.repeats, repeated);
  const double millions = static_cast<double>(selection.count) * selection.rounds() / 1e6;
  for (double& median : medians) median = millions / median;
  return medians;
}

}  // namespace weir::bench
