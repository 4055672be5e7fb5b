// How pieces and rows become frames.

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <tuple>
#include <utility>

#include "common/base/strings.h"
#include "common/saved_model/frames.h"
#include "common/wire/piece_frame.h"
#include "common/wire/row_frame.h"
#include "common/wire/state_frame.h"

namespace weir::saved_model {
namespace {

// Rows at a time: below the least cluster.max_message_bytes.
constexpr uint64_t kSectionBytes = uint64_t{1} << 18;

// Of rows that no message carries.
constexpr uint64_t kNumberedSectionBytes = uint64_t{1} << 20;

struct RowView {
  uint32_t table;
  uint64_t id;
  std::span<const float> values, state;
  std::optional<uint32_t> number = {};  // of a cut
};

// The frame of the rows of one table, in the order of their ids.
void AppendTable(std::span<const RowView> rows, size_t row_floats, Bytes* out) {
  std::vector<uint64_t> ids;
  std::vector<float> floats;
  for (const RowView& row : rows) {
    ids.push_back(row.id);
    floats.insert(floats.end(), row.values.begin(), row.values.end());
    floats.insert(floats.end(), row.state.begin(), row.state.end());
    if (row.number) floats.push_back(std::bit_cast<float>(*row.number));
  }
  wire::AppendSavedRows(out, rows.front().table, static_cast<uint32_t>(row_floats), ids, floats);
}

void AppendTables(std::vector<RowView> views, size_t row_floats, Bytes* out) {
  std::ranges::sort(views, {}, [](const RowView& row) { return std::tuple(row.table, row.id); });
  for (auto from = views.begin(); from != views.end();) {
    const auto to = std::find_if(from, views.end(),
                                 [&](const RowView& row) { return row.table != from->table; });
    AppendTable({from, to}, row_floats, out);
    from = to;
  }
}

}  // namespace

Status CheckFinite(const std::string& tensor, std::span<const float> values) {
  if (std::ranges::all_of(values, [](float value) { return std::isfinite(value); })) {
    return OkStatus();
  }
  return InvalidData(StrCat(tensor,
                            " has a value that is NaN or infinite: training has diverged, "
                            "and the model is not saved; lower the learning rates"));
}

void AppendPiece(const PieceSpec& spec, std::span<const float> values, std::span<const float> state,
                 Bytes* out) {
  const auto begin = static_cast<uint32_t>(spec.begin);
  wire::PieceFrameWriter writer;
  writer.Open(out, wire::FrameKind::kValues, spec.tensor, begin, wire::ValueCoding::kF32);
  uint32_t stripe = 0;
  for (; !values.empty(); ++stripe) {
    const size_t count = std::min(values.size(), static_cast<size_t>(kStripeElements));
    writer.AppendDense(stripe, values.first(count));
    values = values.subspan(count);
  }
  writer.Finish();
  if (!state.empty()) wire::AppendPieceState(out, spec.tensor, begin, state);
}

uint64_t AppendRows(uint64_t first, uint64_t step, store::RowPartitionStore* rows, Bytes* out) {
  const auto row_count = static_cast<uint64_t>(rows->row_count());
  const auto begin = static_cast<uint32_t>(std::min(first, row_count));
  const uint64_t most = kSectionBytes / (rows->row_floats() * sizeof(float)) + 1;
  const auto end = static_cast<uint32_t>(std::min(row_count, begin + most));
  rows->Settle(begin, end, step);
  std::vector<RowView> views;
  rows->ForEachRow(begin, end,
                   [&](uint32_t table, uint64_t id, std::span<const float> values,
                       std::span<const float> state) {
                     views.push_back({table, id, values, state});
                   });
  AppendTables(std::move(views), rows->row_floats(), out);
  return end < row_count ? end : 0;
}

bool AppendCutRows(store::RowPartitionStore* rows, Bytes* out) {
  const size_t most = kSectionBytes / (rows->row_floats() * sizeof(float)) + 1;
  std::vector<RowView> views;
  const bool has_more = rows->VisitCut(
      static_cast<uint32_t>(most), [&](uint32_t table, uint64_t id, std::span<const float> values,
                                       std::span<const float> state) {
        views.push_back({table, id, values, state});
      });
  AppendTables(std::move(views), rows->row_floats(), out);
  return has_more;
}

bool AppendNumberedCutRows(store::RowPartitionStore* rows, Bytes* out) {
  const size_t row_floats = rows->row_floats() + 1;
  const size_t most = kNumberedSectionBytes / (row_floats * sizeof(float)) + 1;
  std::vector<RowView> views;
  uint32_t number = rows->cut_rows_read();
  const bool has_more = rows->VisitCut(
      static_cast<uint32_t>(most), [&](uint32_t table, uint64_t id, std::span<const float> values,
                                       std::span<const float> state) {
        views.push_back({table, id, values, state, number++});
      });
  AppendTables(std::move(views), row_floats, out);
  return has_more;
}

Status TakeRows(uint64_t step, store::RowPartitionStore* rows,
                const std::function<Status(ByteSpan frames)>& take) {
  Bytes frames;
  uint64_t next = 0;
  do {
    frames.clear();
    next = AppendRows(next, step, rows, &frames);
    WEIR_RETURN_IF_ERROR(take(frames));
  } while (next > 0);
  return OkStatus();
}

}  // namespace weir::saved_model
