// Turns one step's row gradients into row frames, each row for the server that has it, and keeps
// what its table's rule says is not to be sent yet, or is rounded away.
//
// Place in the life of a batch: backward -> **row residual -> encode** -> push.
// Thread rule: any thread, each with its own Scratch.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/base/bytes.h"
#include "common/compress/row_residual.h"
#include "common/layout/model_layout.h"
#include "common/proto/config.pb.h"
#include "common/proto/report.pb.h"
#include "common/saved_model/policy_states.h"
#include "common/session/body.h"
#include "worker/data/batch.h"

namespace weir::worker {

// Of a batch's unique rows, table after table.
struct BatchRows {
  BatchRows() = default;
  BatchRows(std::span<const float> g, std::span<const float> s = {}) : gradients(g), squares(s) {}
  BatchRows(const std::vector<float>& g) : gradients(g) {}  // NOLINT(google-explicit-constructor)

  std::span<const float> gradients;  // [rows, dimension]
  // [rows]: sums over samples of the squared norms of what each gives to the row; only if needed.
  std::span<const float> squares;
};

class RowEncoder {
 public:
  // layout outlives the encoder. has_rows: of a stage that reads them; else there never are any.
  RowEncoder(const v1::CompressionConfig& compression, const ModelLayout& layout, bool has_rows);

  bool needs_squares() const;
  // Every row may be kept for a later step.
  bool keeps_rows() const;

  // What one thread needs to encode a step; reused.
  struct Scratch {
    compress::SentRows sent;
    std::vector<std::vector<uint64_t>> ids;  // per server, of one table; empty between tables
    std::vector<std::vector<float>> values;  // likewise
  };

  // Appends frames of each table that has rows to send. writers: one per server.
  void Encode(const data::Batch& batch, const BatchRows& rows,
              std::vector<session::BodyWriter>& writers, Scratch* scratch);
  // A step without a push; only if keeps_rows().
  void Accumulate(const data::Batch& batch, const BatchRows& rows);

  void FillReport(v1::RowReport* report) const;

  // As StepEncoder's.
  Status SaveStates(const saved_model::TakeState& take) const;
  Result<bool> LoadState(const std::string& name, ByteSpan state);

 private:
  struct Table {
    std::string name;  // "table/C1"
    v1::PolicyRule rule;
    wire::ValueCoding coding;
    bool is_lazy;
    bool is_loaded = false;
    std::unique_ptr<compress::RowResidual> residual;  // null: rows leave as they are
  };

  // Calls visit(table, the step's gradients of its rows).
  template <typename Visit>
  void ForEachTable(const data::Batch& batch, const BatchRows& rows, const Visit& visit) const;
  void AppendFrames(uint32_t table, std::span<const uint64_t> ids, std::span<const float> values,
                    std::vector<session::BodyWriter>& writers, Scratch* scratch) const;

  const ModelLayout& layout_;
  const bool has_rows_;
  std::vector<Table> tables_;
  std::atomic<uint64_t> plain_rows_{0};  // of tables without a residual
  std::atomic<double> encode_seconds_{0};
};

}  // namespace weir::worker
