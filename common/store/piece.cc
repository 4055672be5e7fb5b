#include "common/store/piece.h"

#include <algorithm>

#include "common/base/check.h"
#include "common/layout/initial_values.h"

namespace weir::store {
namespace {

static_assert(kStripeElements <= 65536, "indexes within a stripe are 16 bits");

constexpr uint32_t kMaxStamp = std::numeric_limits<uint32_t>::max();

// Elements that are tested together before any is looked at: at 1 % changed, three groups of four
// have none.
constexpr size_t kGroupElements = 32;

bool AnyAbove(std::span<const uint32_t> stamps, uint32_t threshold) {
  uint32_t any = 0;
  for (const uint32_t stamp : stamps) any |= stamp > threshold ? 1u : 0u;
  return any != 0;
}

// Appends the positions, from `first` on, of the stamps above the threshold. Branch-free: writes
// one past the count, so `indexes` needs room for all of them.
size_t AppendAbove(std::span<const uint32_t> stamps, uint32_t threshold, size_t first,
                   uint16_t* indexes, size_t count) {
  for (size_t i = 0; i < stamps.size(); ++i) {
    indexes[count] = static_cast<uint16_t>(first + i);
    count += stamps[i] > threshold ? 1u : 0u;
  }
  return count;
}

size_t FindAbove(std::span<const uint32_t> stamps, uint32_t threshold, uint16_t* indexes) {
  size_t count = 0, begin = 0;
  for (; begin + kGroupElements <= stamps.size(); begin += kGroupElements) {
    const auto group = stamps.subspan(begin).first<kGroupElements>();
    if (!AnyAbove(group, threshold)) continue;
    count = AppendAbove(group, threshold, begin, indexes, count);
  }
  return AppendAbove(stamps.subspan(begin), threshold, begin, indexes, count);
}

// Stamps the elements with a gradient. False when there is none.
bool StampNonzero(std::span<const float> gradients, uint32_t stamp, uint32_t* stamps) {
  uint32_t any = 0;
  for (size_t i = 0; i < gradients.size(); ++i) {
    const bool nonzero = gradients[i] != 0.0f;
    stamps[i] = nonzero ? stamp : stamps[i];
    any |= nonzero ? 1u : 0u;
  }
  return any != 0;
}

bool StampNonzero(std::span<const uint16_t> indexes, std::span<const float> gradients,
                  uint32_t stamp, uint32_t* stamps) {
  bool any = false;
  for (size_t i = 0; i < indexes.size(); ++i) {
    if (gradients[i] == 0.0f) continue;
    stamps[indexes[i]] = stamp;
    any = true;
  }
  return any;
}

constexpr size_t StripeBegin(uint32_t stripe) {
  return size_t{stripe} * static_cast<size_t>(kStripeElements);
}

}  // namespace

Piece::Piece(const ModelLayout& layout, const PieceSpec& spec, const UpdateRule& rule,
             bool awaits_load)
    : spec_(spec),
      rule_(&rule),
      values_(static_cast<size_t>(spec.element_count)),
      state_(static_cast<size_t>(spec.element_count * rule.StatePerElement())),
      stamps_(static_cast<size_t>(spec.element_count)),
      stripe_versions_(
          static_cast<size_t>((spec.element_count + kStripeElements - 1) / kStripeElements)),
      full_gradients_(rule.dense_semantics() ? static_cast<size_t>(kStripeElements) : 0) {
  CHECK(rule.serves_dense()) << rule.name() << " cannot update a dense tensor";
  CHECK_LT(spec.tensor, layout.tensors().size());
  const TensorSpec& tensor = layout.tensors()[spec.tensor];
  CHECK_EQ(spec.begin % kStripeElements, 0);
  CHECK_LE(spec.begin + spec.element_count, tensor.element_count());
  if (awaits_load) return;
  for (size_t i = 0; i < values_.size(); ++i) {
    values_[i] = InitialDenseValue(layout.seed(), tensor, spec.begin + static_cast<int64_t>(i));
  }
  for (uint32_t stripe = 0; stripe < stripe_count(); ++stripe) {
    rule.InitialState(StripeElements(stripe), StripeState(stripe));
  }
}

void Piece::ApplySparse(uint32_t stripe, std::span<const uint16_t> indexes,
                        std::span<const float> gradients, uint64_t version) {
  CHECK_EQ(indexes.size(), gradients.size());
  if (rule_->dense_semantics()) {
    for (size_t i = 0; i < indexes.size(); ++i) full_gradients_[indexes[i]] = gradients[i];
    ApplyToAll(stripe, std::span(full_gradients_).first(StripeElements(stripe)), version);
    for (const uint16_t index : indexes) full_gradients_[index] = 0;
    return;
  }
  const uint32_t stamp = StampFor(version);
  const size_t begin = StripeBegin(stripe), count = StripeElements(stripe);
  rule_->ApplySparse(values_.span().subspan(begin, count), StripeState(stripe), indexes, gradients,
                     version);
  if (StampNonzero(indexes, gradients, stamp, &stamps_[begin])) stripe_versions_[stripe] = version;
}

void Piece::ApplyDense(uint32_t stripe, std::span<const float> gradients, uint64_t version) {
  CHECK_EQ(gradients.size(), StripeElements(stripe));
  if (rule_->dense_semantics()) return ApplyToAll(stripe, gradients, version);
  const uint32_t stamp = StampFor(version);
  const size_t begin = StripeBegin(stripe), count = StripeElements(stripe);
  rule_->ApplyDense(values_.span().subspan(begin, count), StripeState(stripe), gradients, version);
  if (StampNonzero(gradients, stamp, &stamps_[begin])) stripe_versions_[stripe] = version;
}

void Piece::ApplyToAll(uint32_t stripe, std::span<const float> gradients, uint64_t version) {
  const uint32_t stamp = StampFor(version);
  const size_t begin = StripeBegin(stripe), count = StripeElements(stripe);
  rule_->ApplyDense(values_.span().subspan(begin, count), StripeState(stripe), gradients, version);
  std::fill_n(&stamps_[begin], count, stamp);
  stripe_versions_[stripe] = version;
}

void Piece::FinishPush(uint64_t version) {
  if (!rule_->dense_semantics()) return;
  for (uint32_t stripe = 0; stripe < stripe_count(); ++stripe) {
    if (stripe_versions_[stripe] == version) continue;
    ApplyToAll(stripe, std::span(full_gradients_).first(StripeElements(stripe)), version);
  }
}

void Piece::Load(std::span<const float> values, std::span<const float> state, uint64_t version) {
  CHECK_EQ(last_version_, 0u) << "loaded after a push";
  CHECK_EQ(values.size(), values_.size());
  std::ranges::copy(values, values_.span().begin());
  CHECK_EQ(state.size(), state_.size());
  std::ranges::copy(state, state_.span().begin());
  // Of what came before it no stamp tells.
  last_version_ = stamp_base_ = version;
  std::ranges::fill(stripe_versions_, version);
}

std::vector<float> Piece::StateAfterSkipping(uint64_t step_count) const {
  std::vector<float> state(state_.data(), state_.data() + state_.size());
  const auto per_element = static_cast<size_t>(rule_->StatePerElement());
  for (uint32_t stripe = 0; stripe < stripe_count(); ++stripe) {
    const size_t count = StripeElements(stripe);
    const size_t begin = StripeBegin(stripe) * per_element;
    rule_->Skip(count, step_count, std::span(state).subspan(begin, count * per_element));
  }
  return state;
}

ChangedStripe Piece::Collect(uint32_t stripe, uint64_t since, Scratch& scratch) const {
  const size_t begin = StripeBegin(stripe), count = StripeElements(stripe);
  const std::span<const float> values = values_.span().subspan(begin, count);
  const ChangedStripe whole = {stripe, count, true, {}, values};
  // Stamps say nothing about changes before their base.
  if (since == kEverything || since < stamp_base_) return whole;

  // The stripe has a version above `since`, so the difference is below kMaxStamp.
  const auto threshold = static_cast<uint32_t>(since - stamp_base_);
  const auto stamps = std::span(stamps_).subspan(begin, count);
  const size_t changed = FindAbove(stamps, threshold, scratch.indexes.data());
  if (changed == count) return whole;
  for (size_t i = 0; i < changed; ++i) scratch.values[i] = values[scratch.indexes[i]];
  return {stripe, count, false, std::span(scratch.indexes).first(changed),
          std::span(scratch.values).first(changed)};
}

size_t Piece::StripeElements(uint32_t stripe) const {
  CHECK_LT(stripe, stripe_count());
  return std::min(static_cast<size_t>(kStripeElements), values_.size() - StripeBegin(stripe));
}

std::span<float> Piece::StripeState(uint32_t stripe) {
  const auto per_element = static_cast<size_t>(rule_->StatePerElement());
  return state_.span().subspan(StripeBegin(stripe) * per_element,
                               StripeElements(stripe) * per_element);
}

uint32_t Piece::StampFor(uint64_t version) {
  CHECK_GE(version, last_version_) << "pushes are applied in the order of their numbers";
  CHECK_NE(version, kEverything);
  last_version_ = version;
  if (version - stamp_base_ > kMaxStamp) MoveStampBase(version - kMaxStamp / 2);
  return static_cast<uint32_t>(version - stamp_base_);
}

void Piece::MoveStampBase(uint64_t base) {
  const auto shift = static_cast<uint32_t>(std::min<uint64_t>(base - stamp_base_, kMaxStamp));
  for (uint32_t& stamp : stamps_) stamp = stamp > shift ? stamp - shift : 0;
  stamp_base_ = base;
}

int64_t Piece::memory_bytes() const {
  return static_cast<int64_t>(
      (values_.size() + state_.size()) * sizeof(float) + full_gradients_.size() * sizeof(float) +
      stamps_.size() * sizeof(uint32_t) + stripe_versions_.size() * sizeof(uint64_t));
}

}  // namespace weir::store
