#include "common/compress/sample_ranks.h"

#include <algorithm>

namespace weir::compress {

kernels::LayerRank AsLayerRank(const RankAsk& ask) {
  return {.is_asked = 1,
          .rank = static_cast<uint32_t>(ask.rank),
          .more = static_cast<uint32_t>(ask.more),
          .sparsity = ask.sparsity};
}

std::vector<uint32_t> SampledPlaces(std::span<const DeviceLayer> layers, Asks asks, bool with_rank,
                                    std::vector<size_t>* ends) {
  std::vector<uint32_t> places;
  ends->clear();
  for (size_t i = 0; i < asks.size(); ++i) {
    if (const auto& sample = asks[i].sample; sample && asks[i].rank.has_value() == with_rank) {
      ForEachSampledElement(sample->shape, sample->key, layers[i].scope->element_count,
                            [&](int64_t element) {
                              places.push_back(static_cast<uint32_t>(layers[i].offset + element));
                            });
    }
    ends->push_back(places.size());
  }
  return places;
}

void SampleRanks::Find(device::Stream& stream, const kernels::SelectFrom& from, Asks asks) {
  std::vector<size_t> ends;
  const std::vector<uint32_t> places = SampledPlaces(layers_, asks, true, &ends);
  if (places.empty()) return;
  for (size_t i = 0; i < asks.size(); ++i) {
    ranks_.host()[i] = asks[i].is_of_sample() ? AsLayerRank(*asks[i].rank) : kernels::LayerRank();
  }
  ranks_.Upload(stream, ranks_.size());
  sample_.SetPlaces(stream, places);
  sample_.Gather(stream, from.gradient, from.residual);
  const int64_t stripe_count = PlaceStripes(stream, ends);
  compute_.select->find_ranks(stream, {stripes_.device().data, stripe_count}, ranks_.device().data,
                              std::ssize(layers_), sample_.on_device(), nullptr, from.thresholds);
}

int64_t SampleRanks::PlaceStripes(device::Stream& stream, std::span<const size_t> ends) {
  std::vector<kernels::StripePlace> stripes;
  for (uint32_t layer = 0; layer < ends.size(); ++layer) {
    const size_t begin = layer == 0 ? 0 : ends[layer - 1];
    for (size_t first = begin; first < ends[layer]; first += kStripeElements) {
      const size_t length = std::min<size_t>(kStripeElements, ends[layer] - first);
      stripes.push_back({static_cast<int64_t>(first), static_cast<uint32_t>(length), layer,
                         static_cast<uint32_t>(first - begin)});
    }
  }
  if (stripes_.size() < stripes.size()) {
    stripes_ = {*compute_.device, stripes.size(), "selection"};
  }
  std::ranges::copy(stripes, stripes_.host().begin());
  stripes_.Upload(stream, stripes.size());
  return std::ssize(stripes);
}

}  // namespace weir::compress
