#include "common/store/saved_frames.h"

#include <algorithm>
#include <span>
#include <tuple>
#include <vector>

#include "common/wire/piece_frame.h"
#include "common/wire/row_frame.h"
#include "common/wire/state_frame.h"

namespace weir::store {
namespace {

constexpr uint64_t kPartBytes = uint64_t{4} << 20;

struct SavedRow {
  uint32_t table;
  uint64_t id;
  std::span<const float> values, state;
};

// The frame of the rows of one table, in the order of their ids.
void AppendTable(std::span<const SavedRow> rows, size_t row_floats, Bytes* out) {
  std::vector<uint64_t> ids;
  std::vector<float> floats;
  for (const SavedRow& row : rows) {
    ids.push_back(row.id);
    floats.insert(floats.end(), row.values.begin(), row.values.end());
    floats.insert(floats.end(), row.state.begin(), row.state.end());
  }
  wire::AppendSavedRows(out, rows.front().table, static_cast<uint32_t>(row_floats), ids, floats);
}

}  // namespace

void AppendPiece(const Piece& piece, Bytes* out) {
  const PieceSpec& spec = piece.spec();
  const auto begin = static_cast<uint32_t>(spec.begin);
  wire::PieceFrameWriter writer;
  writer.Open(out, wire::FrameKind::kValues, spec.tensor, begin, wire::ValueCoding::kF32);
  piece.ForEachChangedStripe(kEverything, [&](const ChangedStripe& stripe) {
    writer.AppendDense(stripe.stripe, stripe.values);
  });
  writer.Finish();
  if (!piece.state().empty()) wire::AppendPieceState(out, spec.tensor, begin, piece.state());
}

uint64_t AppendRows(const RowPartitionStore& rows, uint64_t first, Bytes* out) {
  const auto row_count = static_cast<uint64_t>(rows.row_count());
  const uint64_t begin = std::min(first, row_count);
  const uint64_t most = kPartBytes / (rows.row_floats() * sizeof(float)) + 1;
  const uint64_t end = std::min(row_count, begin + most);
  std::vector<SavedRow> saved;
  rows.ForEachRow(static_cast<uint32_t>(begin), static_cast<uint32_t>(end),
                  [&](uint32_t table, uint64_t id, std::span<const float> values,
                      std::span<const float> state) { saved.push_back({table, id, values, state}); });
  std::ranges::sort(saved, {}, [](const SavedRow& row) { return std::tuple(row.table, row.id); });
  for (auto from = saved.begin(); from != saved.end();) {
    const auto to = std::find_if(from, saved.end(),
                                 [&](const SavedRow& row) { return row.table != from->table; });
    AppendTable({from, to}, rows.row_floats(), out);
    from = to;
  }
  return end < row_count ? end : 0;
}

}  // namespace weir::store
