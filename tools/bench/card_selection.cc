#include "tools/bench/card_selection.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <utility>

#include "common/base/random.h"
#include "common/base/strings.h"
#include "common/layout/model_layout.h"

namespace weir::bench {
namespace {

constexpr const char* kPurpose = "a selection";
constexpr auto kStripe = static_cast<size_t>(kStripeElements);

}  // namespace

std::vector<kernels::StripePlace> StripesOfOneLayer(size_t element_count) {
  std::vector<kernels::StripePlace> places;
  for (size_t begin = 0; begin < element_count; begin += kStripe) {
    places.push_back({.begin = static_cast<int64_t>(begin),
                      .length = static_cast<uint32_t>(std::min(kStripe, element_count - begin)),
                      .layer = 0,
                      .first = static_cast<uint32_t>(begin)});
  }
  return places;
}

CardSelection::CardSelection(const Card& card, int64_t element_count, double density)
    : compute_(card.compute),
      count_(static_cast<size_t>(element_count)),
      stream_(card.device->MakeStream()),
      gradient_(*card.device, count_, kPurpose),
      residual_(*card.device, count_, kPurpose),
      values_(*card.device, count_, kPurpose),
      offsets_(*card.device, count_, kPurpose),
      ends_(*card.device, (count_ + kStripe - 1) / kStripe, kPurpose),
      discarded_(*card.device, ends_.size(), kPurpose),
      places_(*card.device, ends_.size(), kPurpose),
      plan_(*card.device, 1, kPurpose),
      rank_(*card.device, 1, kPurpose) {
  PlaceStripes();
  FillIn(density);
}

void CardSelection::PlaceStripes() {
  std::ranges::copy(StripesOfOneLayer(count_), places_.host().begin());
  places_.Upload(*stream_, places_.size());
}

void CardSelection::FillIn(double density) {
  // A gradient of mean size 1/2 takes 1 / density steps to here, half a step more where it is cut.
  const auto least = static_cast<float>(0.5 / density - 0.25);
  plan_.host()[0] = {.taking = kernels::Taking::kReaching, .least = least};
  plan_.Upload(*stream_, 1);
  RandomStream random(1);
  std::vector<float> gradient(count_), residual(count_);
  for (size_t i = 0; i < count_; ++i) {
    gradient[i] = static_cast<float>(2 * random.NextUnit() - 1);
    residual[i] = std::copysign(static_cast<float>(random.NextUnit()) * least, gradient[i]);
  }
  stream_->CopyToDevice<float>(gradient, gradient_.span());
  stream_->CopyToDevice<float>(residual, residual_.span());
  (void)stream_->Synchronize();  // before the vectors go; what failed stays the stream's
}

kernels::StripesView CardSelection::stripes() const {
  return {places_.device().data, static_cast<int64_t>(places_.size())};
}

void CardSelection::Step() {
  compute_.select->accumulate_and_select(
      *stream_, stripes(), plan_.device().data,
      {.gradient = gradient_.data(), .residual = residual_.data(), .square_sums = {}, .scales = {}},
      {ends_.device().data, offsets_.data(), values_.data(), discarded_.data()});
}

Status CardSelection::TopStep(uint32_t rank) {
  rank_.host()[0] = {.is_asked = 1, .rank = rank};
  rank_.Upload(*stream_, 1);
  compute_.select->find_ranks(*stream_, stripes(), rank_.device().data, 1, gradient_.data(),
                              residual_.data(), nullptr);
  rank_.Download(*stream_, 1);
  WEIR_RETURN_IF_ERROR(stream_->Synchronize());
  plan_.host()[0] = {.taking = kernels::Taking::kReaching,
                     .least = std::bit_cast<float>(rank_.host()[0].magnitude_bits)};
  plan_.Upload(*stream_, 1);
  Step();
  return OkStatus();
}

std::vector<float> CardSelection::Download(device::Span<const float> values) const {
  std::vector<float> host(values.size);
  stream_->CopyToHost<float>(values, host);
  (void)stream_->Synchronize();
  return host;
}

std::vector<float> CardSelection::Accumulated() const {
  std::vector<float> sums = Download(residual_.span());
  const std::vector<float> gradient = Download(gradient_.span());
  for (size_t i = 0; i < count_; ++i) sums[i] += gradient[i];
  return sums;
}

CardSelection::Expected CardSelection::PlainLoop(std::vector<float> accumulated, float least) {
  Expected expected;
  for (size_t i = 0; i < accumulated.size(); ++i) {
    float& sum = accumulated[i];
    if (std::abs(sum) >= least) {
      expected.offsets.push_back(static_cast<uint16_t>(i % kStripe));
      expected.values.push_back(std::exchange(sum, 0.0f));
    }
    if (i % kStripe == kStripe - 1 || i + 1 == accumulated.size()) {
      expected.ends.push_back(static_cast<uint32_t>(expected.values.size()));
    }
  }
  expected.residual = std::move(accumulated);
  return expected;
}

Status CardSelection::Compare(const Expected& expected) const {
  ends_.Download(*stream_, ends_.size());
  std::vector<uint16_t> offsets(expected.offsets.size());
  stream_->CopyToHost<uint16_t>(device::Span<const uint16_t>(offsets_.span()).first(offsets.size()),
                                offsets);
  const auto values =
      Download(device::Span<const float>(values_.span()).first(expected.values.size()));
  const auto residual = Download(residual_.span());
  WEIR_RETURN_IF_ERROR(stream_->Synchronize());
  if (!std::ranges::equal(ends_.host(), expected.ends) || offsets != expected.offsets) {
    return Internal("other elements leave on the card than in a plain loop");
  }
  if (values != expected.values) return Internal("other values leave on the card");
  if (residual != expected.residual) return Internal("other residuals stay on the card");
  return OkStatus();
}

Status CardSelection::CheckStep() {
  const Expected expected = PlainLoop(Accumulated(), plan_.host()[0].least);
  Step();
  return Compare(expected);
}

Status CardSelection::CheckTopStep(uint32_t rank) {
  std::vector<float> sums = Accumulated(), magnitudes = sums;
  for (float& magnitude : magnitudes) magnitude = std::abs(magnitude);
  const auto place = magnitudes.begin() + (rank - 1);
  std::nth_element(magnitudes.begin(), place, magnitudes.end(), std::greater<>());
  WEIR_RETURN_IF_ERROR(TopStep(rank));
  if (plan_.host()[0].least != *place) {
    return Internal(StrCat("the magnitude of rank ", rank, " is ", *place, ", and on the card ",
                           plan_.host()[0].least));
  }
  return Compare(PlainLoop(std::move(sums), *place));
}

}  // namespace weir::bench
