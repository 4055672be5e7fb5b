// The embedding rows of one row partition of a server, all tables together: each with its values
// and optimizer state, created on first touch from (seed, table, id).
//
// A row is a function of its own history only: neither the order in which rows appear, nor the
// partition, nor the number of servers changes it. Rows lie in slabs that never move and are never
// freed before the store, so growth copies no row and a span stays valid as long as the store.
// Memory is key + values + state and 5 to 10 bytes of index per row.
//
// Place in the life of a batch: row pull -> **find or create**; row push -> **apply**.
// Thread rule: thread-compatible; one strand at a time owns a partition, readers included.
// Callers have checked what came from a peer: table is one of the layout's, id below its row_count.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/layout/model_layout.h"
#include "common/store/row_index.h"
#include "common/store/update_rule.h"
#include "common/tensor/aligned_buffer.h"

namespace weir::store {

class RowPartitionStore {
 public:
  // layout and rule must outlive the store. At most 2^16 tables of at most 2^48 rows.
  RowPartitionStore(const ModelLayout& layout, const UpdateRule& rule);

  // The row's values, [embedding_dimension]; empty if nobody touched it yet.
  std::span<const float> Find(uint32_t table, uint64_t id) const;
  std::span<const float> FindOrCreate(uint32_t table, uint64_t id);

  // Read-only: an unseen row gives its initial values and is not created.
  // out: [embedding_dimension].
  void ReadOrInitial(uint32_t table, uint64_t id, std::span<float> out) const;

  // Adds a gradient, [embedding_dimension], to a row, creating it if need be.
  void Apply(uint32_t table, uint64_t id, std::span<const float> gradient);

  // Calls visit(table, id, values, state) for each row, in the order of their creation.
  template <typename Visitor>
  void ForEachRow(Visitor&& visit) const {
    for (uint32_t slot = 0; slot < index_.size(); ++slot) {
      const uint64_t key = Key(slot);
      visit(static_cast<uint32_t>(key >> kIdBits), key & kIdMask, Values(slot), State(slot));
    }
  }

  int64_t row_count() const { return index_.size(); }
  int64_t memory_bytes() const;

 private:
  static constexpr int kIdBits = 48;
  static constexpr uint64_t kIdMask = (uint64_t{1} << kIdBits) - 1;
  static constexpr uint32_t kSlabRows = 1024;

  struct Slab {
    explicit Slab(size_t floats_per_row) : floats(kSlabRows * floats_per_row) {}
    std::array<uint64_t, kSlabRows> keys;
    tensor::AlignedBuffer floats;  // values [kSlabRows, dimension], then state [kSlabRows, ...]
  };

  static uint64_t PackKey(uint32_t table, uint64_t id);
  uint64_t Key(uint32_t slot) const { return slabs_[slot / kSlabRows]->keys[slot % kSlabRows]; }
  std::span<float> Values(uint32_t slot) const {
    return slabs_[slot / kSlabRows]->floats.span().subspan(slot % kSlabRows * dimension_,
                                                           dimension_);
  }
  std::span<float> State(uint32_t slot) const {
    return slabs_[slot / kSlabRows]->floats.span().subspan(
        kSlabRows * dimension_ + slot % kSlabRows * state_per_row_, state_per_row_);
  }
  uint32_t FindSlot(uint64_t key) const;
  uint32_t FindOrCreateSlot(uint32_t table, uint64_t id);

  const ModelLayout& layout_;
  const UpdateRule& rule_;
  const size_t dimension_;
  const size_t state_per_row_;
  RowIndex index_;
  std::vector<std::unique_ptr<Slab>> slabs_;
};

}  // namespace weir::store
