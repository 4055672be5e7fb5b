#include "tools/model/mapped_rows.h"

#include <algorithm>
#include <array>
#include <bit>

#include "common/base/random.h"
#include "common/base/strings.h"

namespace weir::tools {
namespace {

// Rows that take a step of a lookup together.
constexpr size_t kGroup = 64;
// How many records before its own an index entry is asked for.
constexpr size_t kAhead = 32;

// Ids have 48 bits (common/store/row_table.h).
uint64_t KeyOf(uint32_t table, uint64_t id) { return uint64_t{table} << 48 | id; }

}  // namespace

void MappedRows::Add(const saved_model::SavedRows& rows) {
  for (size_t i = 0; i < rows.ids.size(); ++i) {
    records_.push_back({KeyOf(rows.table, rows.ids[i]), rows.row(i).data()});
  }
}

Status MappedRows::Finish() {
  // At most 3/4 full.
  const auto bits = std::max(1, static_cast<int>(std::bit_width(records_.size() * 4 / 3 + 1)));
  if (bits > static_cast<int>(store::IndexEntries::kMaxBits)) {
    return ResourceExhausted(StrCat(records_.size(), " rows are more than this program can serve"));
  }
  entries_ = store::IndexEntries(static_cast<uint32_t>(bits));
  for (size_t i = 0; i < records_.size(); ++i) {
    if (i + kAhead < records_.size()) entries_.Prefetch(Mix64(records_[i + kAhead].key));
    const uint64_t hash = Mix64(records_[i].key);
    if (const Record* earlier = FindKey(records_[i].key, hash)) {
      records_[static_cast<size_t>(earlier - records_.data())].place = records_[i].place;
    } else {
      entries_.Place(hash, static_cast<uint32_t>(i));
    }
  }
  return OkStatus();
}

const MappedRows::Record* MappedRows::FindKey(uint64_t key, uint64_t hash) const {
  const uint32_t slot =
      entries_.Probe(hash, [&](uint32_t candidate) { return records_[candidate].key == key; });
  return slot == store::IndexEntries::kAbsent ? nullptr : &records_[slot];
}

const uint8_t* MappedRows::Find(uint32_t table, uint64_t id) const {
  const uint64_t key = KeyOf(table, id);
  const Record* record = FindKey(key, Mix64(key));
  return record == nullptr ? nullptr : record->place;
}

// In three steps, so that the memory of many rows is asked for at a time.
void MappedRows::FindBatch(std::span<const store::BatchRow> rows,
                           std::vector<const uint8_t*>* places) const {
  places->resize(rows.size());
  std::array<uint64_t, kGroup> hashes;
  for (size_t begin = 0; begin < rows.size(); begin += kGroup) {
    const auto group = rows.subspan(begin, std::min(kGroup, rows.size() - begin));
    for (size_t i = 0; i < group.size(); ++i) {
      hashes[i] = Mix64(KeyOf(group[i].table, group[i].id));
      entries_.Prefetch(hashes[i]);
    }
    for (size_t i = 0; i < group.size(); ++i) {
      const uint32_t slot = entries_.Probe(hashes[i], [](uint32_t) { return true; });
      if (slot != store::IndexEntries::kAbsent) __builtin_prefetch(&records_[slot]);
    }
    for (size_t i = 0; i < group.size(); ++i) {
      const Record* record = FindKey(KeyOf(group[i].table, group[i].id), hashes[i]);
      (*places)[begin + i] = record == nullptr ? nullptr : record->place;
      if (record != nullptr) __builtin_prefetch(record->place);
    }
  }
}

}  // namespace weir::tools
