// How a fresh shard becomes what one was at a cut.

#include <algorithm>
#include <tuple>
#include <utility>

#include "common/base/check.h"
#include "common/base/strings.h"
#include "common/saved_model/frames.h"
#include "server/shard/shard_cut.h"

namespace weir::server {

// Checks whatever it is given: it comes from a file.
class Shard::Restoring {
 public:
  Restoring(const CutSummary& summary, Shard* shard)
      : summary_(summary), shard_(*shard), is_there_(shard->dense_.size()) {}

  Status CheckSummary() const {
    const size_t stage_count = shard_.versions_.size(), partition_count = shard_.rows_.size();
    if (summary_.versions.size() != stage_count || summary_.row_counts.size() != partition_count) {
      return InvalidData(StrCat("a cut of a server with ", summary_.versions.size(), " stages and ",
                                summary_.row_counts.size(), " row partitions; this one has ",
                                stage_count, " and ", partition_count));
    }
    const v1::RuleStarts& starts = summary_.rule_starts;
    const uint64_t latest = std::max({starts.dense(), starts.rows(), starts.untouched_rows()});
    const auto [first, last] = std::ranges::minmax(summary_.versions);
    if (latest <= first && last != store::kEverything) return OkStatus();
    return InvalidData(StrCat("a cut of a server at push ", first, " to ", last,
                              ", with update rules that begin at ", latest));
  }

  Status Take(ByteSpan section) {
    WEIR_RETURN_IF_ERROR(saved_model::VisitFrames(
        section, shard_.layout_,
        {.advance = [this](uint64_t) { return status_; },
         .piece = [this](const saved_model::SavedPiece& piece) { TakePiece(piece); },
         .rows = [this](const saved_model::SavedRows& rows) { TakeRows(rows); }}));
    WEIR_RETURN_IF_ERROR(status_);
    return LoadRows();
  }

  Status CheckWhole() const {
    const auto missing = std::ranges::find(is_there_, false);
    if (missing != is_there_.end()) {
      const PieceSpec& spec =
          shard_.dense_[static_cast<size_t>(missing - is_there_.begin())]->piece().spec();
      return InvalidData(StrCat("a cut of a server without the piece of tensor ", spec.tensor,
                                " at ", spec.begin));
    }
    for (size_t i = 0; i < summary_.row_counts.size(); ++i) {
      const auto row_count = static_cast<uint64_t>(shard_.rows_[i]->rows().row_count());
      if (row_count == summary_.row_counts[i]) continue;
      return InvalidData(StrCat("a cut of a server with ", row_count, " of the ",
                                summary_.row_counts[i], " rows of partition ", i));
    }
    return OkStatus();
  }

 private:
  struct Row {
    uint32_t partition, number, table;
    uint64_t id;
    ByteSpan floats;  // and its number
  };

  template <typename... Parts>
  void Refuse(const Parts&... why) {
    if (status_.ok()) status_ = InvalidData(StrCat("a cut of a server has ", why...));
  }

  void TakePiece(const saved_model::SavedPiece& saved) {
    const auto slot = shard_.dense_slots_.find({saved.tensor, static_cast<uint32_t>(saved.begin)});
    if (slot == shard_.dense_slots_.end()) {
      return Refuse("the piece of tensor ", saved.tensor, " at ", saved.begin,
                    ", another server's");
    }
    store::Piece& piece = shard_.dense_[slot->second]->piece();
    if (is_there_[slot->second] || saved.state.size() != piece.state().size()) {
      return Refuse("the piece of tensor ", saved.tensor, " at ", saved.begin,
                    is_there_[slot->second] ? " twice" : " with the state of another rule");
    }
    is_there_[slot->second] = true;
    piece.Load(saved.values, saved.state, summary_.versions[shard_.dense_stages_[slot->second]]);
  }

  void TakeRows(const saved_model::SavedRows& saved) {
    if (saved.row_floats != shard_.rows_.front()->rows().row_floats() + 1) {
      return Refuse("rows of ", saved.row_floats, " numbers, those of another rule");
    }
    for (size_t i = 0; i < saved.ids.size(); ++i) {
      const ByteSpan floats = saved.row(i);
      const uint64_t id = saved.ids[i];
      const uint32_t server_count = shard_.layout_.server_count();
      if (server_count > 1 && RowServer(saved.table, id, server_count) != shard_.shard_index_) {
        return Refuse("row ", id, " of table ", saved.table, ", another server's");
      }
      const auto number = ByteReader(floats.last(sizeof(uint32_t))).Get<uint32_t>();
      rows_.push_back({RowPartition(saved.table, id, shard_.partition_count_), number, saved.table,
                       id, floats});
    }
  }

  // A section's, of each partition in the order of their creation.
  Status LoadRows() {
    std::ranges::sort(rows_, {},
                      [](const Row& row) { return std::pair(row.partition, row.number); });
    const auto dimension = static_cast<size_t>(shard_.layout_.embedding_dimension());
    std::vector<float> floats(shard_.rows_.front()->rows().row_floats());
    for (const Row& row : rows_) {
      store::RowPartitionStore& rows = shard_.rows_[row.partition]->rows();
      std::memcpy(floats.data(), row.floats.data(), floats.size() * sizeof(float));
      const int64_t row_count = rows.row_count();
      if (row.number == row_count) {
        rows.Load(row.table, row.id, std::span<const float>(floats).first(dimension),
                  std::span<const float>(floats).subspan(dimension));
      }
      if (row.number != row_count || rows.row_count() == row_count) {
        return InvalidData(StrCat("a cut of a server has row ", row.id, " of table ", row.table,
                                  " as number ", row.number, " of partition ", row.partition,
                                  ", which is not the next one, or twice"));
      }
    }
    rows_.clear();
    return OkStatus();
  }

  const CutSummary& summary_;
  Shard& shard_;
  std::vector<bool> is_there_;  // of each dense strand's piece
  std::vector<Row> rows_;       // of the section
  Status status_;
};

Status Shard::Restore(const CutSummary& summary, const NextSection& next) {
  CHECK_EQ(versions_[0], 0u);
  Restoring restoring(summary, this);
  WEIR_RETURN_IF_ERROR(restoring.CheckSummary());
  while (true) {
    WEIR_ASSIGN_OR_RETURN(const std::optional<Bytes> section, next());
    if (!section) break;
    WEIR_RETURN_IF_ERROR(restoring.Take(*section));
  }
  WEIR_RETURN_IF_ERROR(restoring.CheckWhole());
  BeginRules(summary.rule_starts);
  versions_ = summary.versions;
  return OkStatus();
}

}  // namespace weir::server
