// One piece of a dense tensor on its server: value, optimizer state and last-changed version of
// each element. It takes gradients stripe by stripe and says what changed since a version, which is
// what an answer to a push is built from: sparse pushes get sparse answers.
//
// Versions are the numbers that the dispatcher gives to pushes, from 1, and the steps of the update
// rule; version 0 is the initial model. An element whose gradient is exactly zero is neither
// touched nor stamped, unless the rule has dense_semantics(): then every push touches all of them.
// Whoever applies the changes since v to a copy as of v, or everything to any copy, holds the piece
// exactly.
//
// Stripes are numbered within the piece: element i of stripe s is element
// spec.begin + s * kStripeElements + i of the tensor. Only a piece's last stripe may be short.
//
// Place in the life of a batch: number -> decode -> **apply, stamp, collect the answer**.
// Thread rule: thread-compatible; one strand at a time owns a piece, readers included.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "common/layout/model_layout.h"
#include "common/store/update_rule.h"
#include "common/tensor/aligned_buffer.h"

namespace weir::store {

// In place of a version: all elements, whenever they changed.
inline constexpr uint64_t kEverything = std::numeric_limits<uint64_t>::max();

// Elements of one stripe that changed. Borrowed; valid until the visitor returns.
struct ChangedStripe {
  uint32_t stripe = 0;
  size_t element_count = 0;           // of the stripe, changed or not
  bool dense = false;                 // all of them; indexes is then empty
  std::span<const uint16_t> indexes;  // ascending, within the stripe
  std::span<const float> values;      // one per index, or per element when dense
};

class Piece {
 public:
  // spec: one of layout.pieces(). rule serves_dense() and must outlive the piece. awaits_load: its
  // values and state are what Load will give it, so the initial ones are not computed.
  Piece(const ModelLayout& layout, const PieceSpec& spec, const UpdateRule& rule,
        bool awaits_load = false);

  // Adds a push's gradients to one stripe. stripe < stripe_count(); versions never decrease from
  // call to call. The caller has checked what came from a peer: indexes are ascending and below
  // StripeElements(stripe), one gradient each; the dense form has StripeElements(stripe) gradients.
  void ApplySparse(uint32_t stripe, std::span<const uint16_t> indexes,
                   std::span<const float> gradients, uint64_t version);
  void ApplyDense(uint32_t stripe, std::span<const float> gradients, uint64_t version);

  // After the last gradient of a push, or for one without any: with dense_semantics() the step of
  // the stripes that it gave none.
  void FinishPush(uint64_t version);

  // Takes values and optimizer state over, before the first push: from a saved model, or of a piece
  // as they lay after push `version`. Changes since an older one are all elements then.
  void Load(std::span<const float> values, std::span<const float> state, uint64_t version = 0);

  // Calls visit(const ChangedStripe&) for each stripe with a change after version `since`, in
  // order; stripes without one are skipped at the cost of a comparison. Exact as long as `since` is
  // less than 2^31 pushes old; an older one may be given elements that did not change since.
  template <typename Visitor>
  void ForEachChangedStripe(uint64_t since, Visitor&& visit) const {
    Scratch scratch;
    for (uint32_t stripe = 0; stripe < stripe_count(); ++stripe) {
      if (since != kEverything && stripe_versions_[stripe] <= since) continue;
      visit(Collect(stripe, since, scratch));
    }
  }

  const PieceSpec& spec() const { return spec_; }
  uint32_t stripe_count() const { return static_cast<uint32_t>(stripe_versions_.size()); }
  // kStripeElements, less for the last.
  size_t StripeElements(uint32_t stripe) const;

  std::span<const float> values() const { return values_.span(); }
  // Optimizer state, StatePerElement() floats per element, stripe by stripe.
  std::span<const float> state() const { return state_.span(); }
  // The state with so many steps more before its last ones (UpdateRule::Skip).
  std::vector<float> StateAfterSkipping(uint64_t step_count) const;
  int64_t memory_bytes() const;

 private:
  // Left uninitialised: Collect writes before it reads.
  struct Scratch {
    std::array<uint16_t, kStripeElements> indexes;
    std::array<float, kStripeElements> values;
  };

  ChangedStripe Collect(uint32_t stripe, uint64_t since, Scratch& scratch) const;
  void ApplyToAll(uint32_t stripe, std::span<const float> gradients, uint64_t version);
  std::span<float> StripeState(uint32_t stripe);
  uint32_t StampFor(uint64_t version);
  void MoveStampBase(uint64_t base);

  PieceSpec spec_;
  const UpdateRule* rule_;
  tensor::AlignedBuffer values_;
  tensor::AlignedBuffer state_;
  // Per element, last-changed version minus stamp_base_; 0 also stands for all versions before the
  // base. Half the memory and twice the scan speed of full versions; the base moves before a stamp
  // would overflow.
  std::vector<uint32_t> stamps_;
  uint64_t stamp_base_ = 0;
  std::vector<uint64_t> stripe_versions_;  // the newest of each stripe's elements
  // With dense_semantics(): zeros, but while sparse gradients are applied.
  std::vector<float> full_gradients_;
  uint64_t last_version_ = 0;
};

}  // namespace weir::store
