// What a row partition has of a cut: how far it was read, and how rows were that have changed
// before they were. Those lie in a store of their own, found by their keys: copy on update, as Vaz
// Salles et al. 2009 call it. Deviation: what is to be written is asked for, a section at a time.
//
// Place in the life of a batch: row push -> **keep as it was** -> apply, while there is a cut.
// Thread rule: as the partition's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "common/store/row_table.h"

namespace weir::store {

struct RowPartitionStore::Cut {
  Cut(const ModelLayout& layout, const UpdateRule& rule) : kept(layout, rule) {}

  RowPartitionStore kept;
  uint32_t next = 0, end = 0;    // slots still to be read
  std::optional<uint64_t> step;  // that rows are settled at
  // The first slot of each slab, by its address: who changes a row knows where it lies, not when it
  // was created.
  std::unordered_map<uintptr_t, uint32_t> first_slots;
};

}  // namespace weir::store
