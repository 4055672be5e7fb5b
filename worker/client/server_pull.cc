#include "worker/client/server_pull.h"

#include <algorithm>
#include <utility>

#include "common/base/strings.h"
#include "common/wire/row_frame.h"

namespace weir::worker {

ServerPull::ServerPull(const ModelLayout& layout, RowCache* cache, uint64_t step)
    : layout_(layout),
      cache_(cache),
      step_(step),
      dimension_(static_cast<size_t>(layout.embedding_dimension())),
      servers_(layout.server_count()) {}

void ServerPull::Ask(const data::Batch& batch) {
  std::vector<Bytes> bodies(servers_.size());
  size_t position = 0;
  for (uint32_t table = 0; table < batch.tables.size(); ++table) {
    AskForTable(table, batch.tables[table].unique, position, &bodies);
    position += batch.tables[table].unique.size();
  }
  request.bodies.resize(servers_.size());
  for (size_t server = 0; server < servers_.size(); ++server) {
    if (!bodies[server].empty()) request.bodies[server].emplace_back(std::move(bodies[server]));
  }
}

void ServerPull::AskForTable(uint32_t table, const std::vector<uint64_t>& ids,
                             size_t first_position, std::vector<Bytes>* bodies) {
  for (auto& tables : servers_) tables.push_back({.table = table, .positions = {}, .ids = {}});
  for (size_t i = 0; i < ids.size(); ++i) {
    if (FindInCache(table, ids[i], first_position + i)) continue;
    Asked& asked = servers_[RowServer(table, ids[i], layout_.server_count())].back();
    asked.positions.push_back(first_position + i);
    asked.ids.push_back(ids[i]);
  }
  for (size_t server = 0; server < servers_.size(); ++server) {
    const std::vector<uint64_t>& asked = servers_[server].back().ids;
    if (asked.empty()) {
      servers_[server].pop_back();
    } else {
      wire::AppendRowIds(&(*bodies)[server], table, static_cast<uint32_t>(dimension_), asked);
    }
  }
}

bool ServerPull::FindInCache(uint32_t table, uint64_t id, size_t position) {
  if (cache_ == nullptr) return false;
  const size_t size = cached_rows_.size();
  cached_rows_.resize(size + dimension_);
  if (cache_->Find(table, id, step_, std::span(cached_rows_).subspan(size))) {
    cached_positions_.push_back(position);
    return true;
  }
  cached_rows_.resize(size);
  return false;
}

Status ServerPull::Take(const std::vector<Body>& replies, std::span<float> rows,
                        const std::function<std::string(size_t server)>& name) {
  for (size_t i = 0; i < cached_positions_.size(); ++i) {
    std::copy_n(cached_rows_.data() + i * dimension_, dimension_,
                rows.data() + cached_positions_[i] * dimension_);
  }
  for (size_t server = 0; server < replies.size(); ++server) {
    if (servers_[server].empty()) continue;
    const Status status = TakeReply(server, replies[server], rows);
    if (status.ok()) continue;
    return InvalidData(StrCat(name(server), " sent a damaged row reply: ", status.message()));
  }
  return OkStatus();
}

Status ServerPull::TakeReply(size_t server, const Body& reply, std::span<float> rows) {
  if (reply.size() != 1) {
    return InvalidData(StrCat("it has ", reply.size(), " parts instead of 1"));
  }
  wire::FrameCursor cursor(reply[0].span());
  for (const Asked& asked : servers_[server]) {
    WEIR_ASSIGN_OR_RETURN(const wire::FrameView frame, cursor.Next());
    if (frame.header.tensor != asked.table) {
      return InvalidData(
          StrCat("it has rows of table ", frame.header.tensor, " instead of ", asked.table));
    }
    WEIR_RETURN_IF_ERROR(TakeTable(frame, asked, rows));
  }
  if (cursor.done()) return OkStatus();
  return InvalidData("it has rows that nobody asked for");
}

Status ServerPull::TakeTable(const wire::FrameView& frame, const Asked& asked,
                             std::span<float> rows) {
  WEIR_RETURN_IF_ERROR(wire::DecodeRowValues(frame, static_cast<uint32_t>(dimension_),
                                             static_cast<uint32_t>(asked.positions.size()),
                                             &values_));
  for (size_t i = 0; i < asked.positions.size(); ++i) {
    const std::span<const float> row = std::span(values_).subspan(i * dimension_, dimension_);
    std::ranges::copy(row, rows.data() + asked.positions[i] * dimension_);
    if (cache_ != nullptr) cache_->Put(asked.table, asked.ids[i], step_, row);
  }
  return OkStatus();
}

}  // namespace weir::worker
