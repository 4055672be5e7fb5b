// The embedding rows of one row partition of a server, all tables together: each with its values
// and optimizer state, created on first touch from (seed, table, id).
//
// A row is a function of its own history only: neither the order in which rows appear, nor the
// partition, nor the number of servers changes it. Rows lie in slabs that never move and are never
// freed before the store, so growth copies no row and a span stays valid as long as the store.
// Memory is key + state + values, side by side, and 7 to 10 bytes of index per row.
//
// A store of millions of rows is read at random, and memory answers a hundred times slower than a
// row is computed with. So the batch forms ask for the memory of many rows at a time; they do what
// the one-row forms do, row by row in the batch's order, and a row may come twice. Who updates
// what it has read, in one process, need not look it up again: it keeps the rows' places.
//
// Place in the life of a batch: row pull -> **find or create**; row push -> **apply**.
// Thread rule: thread-compatible; one strand at a time owns a partition, readers included.
// Callers have checked what came from a peer: table is one of the layout's, id below its row_count.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "common/base/divisor.h"
#include "common/layout/model_layout.h"
#include "common/store/row_index.h"
#include "common/store/slab_pool.h"
#include "common/store/update_rule.h"

namespace weir::store {

// A row of a batch, and which row of the batch's matrix, [.., embedding_dimension], is its own.
struct BatchRow {
  uint32_t table = 0;
  uint32_t position = 0;
  uint64_t id = 0;
};

// Where a row of a batch lies, for as long as the store lives.
struct RowPlace {
  std::byte* row = nullptr;
  uint32_t position = 0;  // as BatchRow's
};

class RowPartitionStore {
 public:
  // layout and rule must outlive the store. At most 2^16 tables of at most 2^48 rows.
  RowPartitionStore(const ModelLayout& layout, const UpdateRule& rule);
  ~RowPartitionStore();

  // One row at a time, which runs do not: what the batch forms are defined and tested by.
  //
  // The row's values after its last gradient, [embedding_dimension]; empty if nobody touched it
  // yet.
  std::span<const float> Find(uint32_t table, uint64_t id) const;
  std::span<const float> FindOrCreate(uint32_t table, uint64_t id);

  // The row as it is after `step`. Read-only: an unseen row gives its initial values and is not
  // created. out: [embedding_dimension].
  void ReadOrInitial(uint32_t table, uint64_t id, uint64_t step, std::span<float> out) const;

  // Adds a step's gradient, [embedding_dimension], to a row, creating it if need be.
  void Apply(uint32_t table, uint64_t id, std::span<const float> gradient, uint64_t step);

  // The same for each row of a batch. matrix: holds every row's position. places: if not null,
  // becomes the rows', in the batch's order.
  void ReadBatch(std::span<const BatchRow> rows, uint64_t step, std::span<float> matrix,
                 std::vector<RowPlace>* places = nullptr);
  void ReadBatchOrInitial(std::span<const BatchRow> rows, uint64_t step,
                          std::span<float> matrix) const;
  void ApplyBatch(std::span<const BatchRow> rows, std::span<const float> matrix, uint64_t step);
  // By the places that ReadBatch gave.
  void ApplyPlaces(std::span<const RowPlace> places, std::span<const float> matrix, uint64_t step);

  // Takes a row over from a saved model, or from a cut.
  void Load(uint32_t table, uint64_t id, std::span<const float> values,
            std::span<const float> state);

  // What nobody has touched yet is, until this step, as it was made: of a run that goes on from a
  // saved model under other update rules.
  void StartAt(uint64_t step) { first_step_ = step; }

  // Makes rows [begin, end), in the order of their creation, what they are after `step`.
  void Settle(uint32_t begin, uint32_t end, uint64_t step);

  // Calls visit(table, id, values, state) for each row, in the order of their creation.
  template <typename Visitor>
  void ForEachRow(Visitor&& visit) const {
    ForEachRow(0, index_.size(), visit);
  }
  // For rows [begin, end) of that order.
  template <typename Visitor>
  void ForEachRow(uint32_t begin, uint32_t end, Visitor&& visit) const {
    for (uint32_t slot = begin; slot < end; ++slot) VisitRow(Row(slot), visit);
  }

  // A cut: all rows as they are now, bit by bit, read some at a time while they go on changing
  // (row_cut.cc). A row that changes before it was read is kept as it was, so beside the rows there
  // is memory for those alone. One at a time. step: they are made what they are after it, in their
  // place, as Settle does; nothing: they stay as they lie.
  void BeginCut(std::optional<uint64_t> step = std::nullopt);
  // Calls visit as above for the next rows of the cut, in the order of their creation, so many at
  // most. Whether there are more.
  template <typename Visitor>
  bool VisitCut(uint32_t most, Visitor&& visit) {
    for (; most > 0; --most) {
      std::byte* const row = TakeCutRow();
      if (row == nullptr) return false;
      VisitRow(row, visit);
    }
    return cut_rows_read() < cut_row_count();
  }
  // Those that the cut has; 0 where there is none.
  uint32_t cut_row_count() const;
  uint32_t cut_rows_read() const;
  // Forgets what was kept, whether all was read or not; nothing where there is no cut.
  void EndCut();

  int64_t row_count() const { return row_count_; }  // any thread
  // Floats of a row: values and state.
  size_t row_floats() const { return dimension_ + state_per_row_; }
  int64_t memory_bytes() const;

 private:
  static constexpr int kIdBits = 48;
  static constexpr uint64_t kIdMask = (uint64_t{1} << kIdBits) - 1;

  static uint64_t PackKey(uint32_t table, uint64_t id);

  // A row's memory: its key, its state, its values.
  std::byte* Row(uint32_t slot) const {
    const uint32_t slab = rows_per_slab_.Quotient(slot);
    return slabs_[slab] + (slot - slab * slab_rows_) * row_bytes_;
  }
  // Null for kAbsent.
  std::byte* RowOrNull(uint32_t slot) const {
    return slot == RowIndex::kAbsent ? nullptr : Row(slot);
  }
  static uint64_t KeyOf(const std::byte* row) {
    uint64_t key;
    std::memcpy(&key, row, sizeof(key));
    return key;
  }
  uint64_t Key(uint32_t slot) const { return KeyOf(Row(slot)); }
  std::span<float> StateOf(std::byte* row) const {
    return {reinterpret_cast<float*>(row + sizeof(uint64_t)), state_per_row_};
  }
  std::span<float> ValuesOf(std::byte* row) const {
    return {StateOf(row).data() + state_per_row_, dimension_};
  }
  std::span<float> State(uint32_t slot) const { return StateOf(Row(slot)); }
  std::span<float> Values(uint32_t slot) const { return ValuesOf(Row(slot)); }

  uint32_t FindSlot(uint64_t key) const;
  uint32_t FindOrCreateSlot(uint32_t table, uint64_t id);
  uint32_t CreateSlot(uint32_t table, uint64_t id);
  std::byte* Append(uint64_t key);

  template <typename Visitor>
  void VisitRow(std::byte* row, Visitor&& visit) const {
    const uint64_t key = KeyOf(row);
    visit(static_cast<uint32_t>(key >> kIdBits), key & kIdMask, ValuesOf(row), StateOf(row));
  }
  // Before it changes while there is a cut.
  void Keep(std::byte* row);
  bool IsUnread(const std::byte* row) const;
  void SettleForCut(std::byte* row) const;
  void SettleToRead(std::byte* row) const;
  void KeepBatch(std::span<const BatchRow> rows);
  std::byte* TakeCutRow();

  template <typename Visit>
  void VisitBatch(std::span<const BatchRow> rows, const float* gradients, const Visit& visit) const;
  class Updates;
  void CopyRow(const float* from, float* to) const;
  void ReadRow(std::byte* row, uint64_t step, std::span<float> out) const;
  void ReadUnseen(uint32_t table, uint64_t id, uint64_t step, std::span<float> out) const;
  void MakeState(std::span<float> state) const;

  const ModelLayout& layout_;
  const UpdateRule& rule_;
  const bool moves_at_rest_;
  uint64_t first_step_ = 0;
  const size_t dimension_;
  const size_t state_per_row_;
  const size_t row_bytes_;
  const uint32_t slab_rows_;
  const Divisor rows_per_slab_;
  RowIndex index_;
  std::atomic<uint32_t> row_count_{0};
  SlabPool pool_;
  std::vector<std::byte*> slabs_;
  struct Cut;
  std::unique_ptr<Cut> cut_;  // null: there is none
};

}  // namespace weir::store
