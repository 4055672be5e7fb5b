#include "worker/push/row_encoder.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/strings.h"
#include "common/config/policy_rules.h"
#include "common/wire/row_frame.h"

namespace weir::worker {
namespace {

// Each but the last one full.
void AppendFullFrames(uint32_t table, size_t dimension, std::span<const uint64_t> ids,
                      std::span<const float> values, wire::ValueCoding coding,
                      session::BodyWriter* writer) {
  for (size_t first = 0, count = 0; first < ids.size(); first += count) {
    count = std::min(wire::RowsPerFrame(dimension), ids.size() - first);
    wire::AppendRowGradients(writer->Next(), table, static_cast<uint32_t>(dimension),
                             ids.subspan(first, count),
                             values.subspan(first * dimension, count * dimension), coding);
  }
}

}  // namespace

RowEncoder::RowEncoder(const v1::CompressionConfig& compression, const ModelLayout& layout,
                       bool has_rows)
    : layout_(layout), has_rows_(has_rows) {
  for (const TableSpec& spec : layout.tables()) {
    Table& table = tables_.emplace_back();
    table.name = StrCat("table/", spec.name);
    const v1::PolicyRule& rule = config::RuleForLayer(compression, table.name);
    table.rule = rule;
    table.coding = rule.values() == v1::BF16 ? wire::ValueCoding::kBf16 : wire::ValueCoding::kF32;
    table.is_lazy = rule.has_lazy_rows();
    if (!table.is_lazy && table.coding == wire::ValueCoding::kF32) continue;
    table.residual = std::make_unique<compress::RowResidual>(
        compress::MakeRowTest(rule), static_cast<size_t>(layout.embedding_dimension()),
        table.coding);
  }
}

bool RowEncoder::needs_squares() const {
  return std::ranges::any_of(tables_, [](const Table& table) {
    return table.residual != nullptr && table.residual->needs_squares();
  });
}

bool RowEncoder::keeps_rows() const { return std::ranges::all_of(tables_, &Table::is_lazy); }

template <typename Visit>
void RowEncoder::ForEachTable(const data::Batch& batch, const BatchRows& rows,
                              const Visit& visit) const {
  const auto dimension = static_cast<size_t>(layout_.embedding_dimension());
  size_t first = 0;  // row of the table's first unique id
  for (uint32_t table = 0; table < batch.tables.size(); ++table) {
    const std::vector<uint64_t>& ids = batch.tables[table].unique;
    compress::RowGradients gradients = {
        .ids = ids,
        .values = rows.gradients.subspan(first * dimension, ids.size() * dimension),
        .squares = {}};
    if (!rows.squares.empty()) gradients.squares = rows.squares.subspan(first, ids.size());
    visit(table, gradients);
    first += ids.size();
  }
}

void RowEncoder::Encode(const data::Batch& batch, const BatchRows& rows,
                        std::vector<session::BodyWriter>& writers, Scratch* scratch) {
  const Stopwatch stopwatch(&encode_seconds_);
  ForEachTable(batch, rows, [&](uint32_t table, const compress::RowGradients& gradients) {
    compress::RowResidual* const residual = tables_[table].residual.get();
    if (residual == nullptr) {
      plain_rows_.fetch_add(gradients.ids.size(), std::memory_order_relaxed);
      return AppendFrames(table, gradients.ids, gradients.values, writers, scratch);
    }
    residual->Take(gradients, &scratch->sent);
    AppendFrames(table, scratch->sent.ids, scratch->sent.values, writers, scratch);
  });
}

void RowEncoder::Accumulate(const data::Batch& batch, const BatchRows& rows) {
  const Stopwatch stopwatch(&encode_seconds_);
  ForEachTable(batch, rows, [&](uint32_t table, const compress::RowGradients& gradients) {
    tables_[table].residual->Accumulate(gradients);
  });
}

void RowEncoder::AppendFrames(uint32_t table, std::span<const uint64_t> ids,
                              std::span<const float> values,
                              std::vector<session::BodyWriter>& writers, Scratch* scratch) const {
  const auto dimension = static_cast<size_t>(layout_.embedding_dimension());
  const uint32_t servers = layout_.server_count();
  scratch->ids.resize(servers);
  scratch->values.resize(servers);
  for (size_t i = 0; i < ids.size(); ++i) {
    const uint32_t server = RowServer(table, ids[i], servers);
    scratch->ids[server].push_back(ids[i]);
    const float* const row = values.data() + i * dimension;
    scratch->values[server].insert(scratch->values[server].end(), row, row + dimension);
  }
  for (uint32_t server = 0; server < servers; ++server) {
    AppendFullFrames(table, dimension, scratch->ids[server], scratch->values[server],
                     tables_[table].coding, &writers[server]);
    scratch->ids[server].clear();
    scratch->values[server].clear();
  }
}

void RowEncoder::FillReport(v1::RowReport* report) const {
  compress::RowCounts counts;
  for (const Table& table : tables_) {
    if (table.residual != nullptr) counts += table.residual->counts();
  }
  report->set_gradients(counts.gradients + plain_rows_.load());
  report->set_sent(counts.sent + plain_rows_.load());
  report->set_sent_for_age(counts.sent_for_age);
  report->set_kept_steps(counts.kept_steps);
  report->set_discarded_l1(counts.discarded_l1);
  report->set_waiting(counts.waiting);
  report->set_encode_seconds(encode_seconds_.load());
}

Status RowEncoder::SaveStates(const saved_model::TakeState& take) const {
  if (!has_rows_) return OkStatus();
  for (const Table& table : tables_) {
    if (table.residual == nullptr || table.residual->empty()) continue;
    Bytes state;
    ByteWriter writer(state);
    table.residual->Save(&writer);
    v1::PolicyStateHeader header;
    header.set_name(table.name);
    *header.mutable_rule() = table.rule;
    header.set_has_unsent(true);
    WEIR_RETURN_IF_ERROR(take(header, state));
  }
  return OkStatus();
}

Result<bool> RowEncoder::LoadState(const std::string& name, ByteSpan state) {
  const auto found = std::ranges::find(tables_, name, &Table::name);
  if (!has_rows_ || found == tables_.end()) return false;
  if (std::exchange(found->is_loaded, true)) return InvalidData(StrCat(name, " comes twice"));
  if (found->residual == nullptr) {
    LOG(WARNING) << "what had not been sent of rows of " << name
                 << " is lost: its rule keeps nothing now";
    return false;
  }
  ByteReader reader(state);
  const Status loaded = found->residual->Load(&reader);
  if (loaded.ok()) return true;
  return InvalidData(StrCat("of ", name, ", ", loaded.message()));
}

}  // namespace weir::worker
