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
  size_t position = 0;
  for (uint32_t table = 0; table < batch.tables.size(); ++table) {
    AskForTable(table, batch.tables[table].unique, position);
    position += batch.tables[table].unique.size();
  }
  request.bodies.resize(servers_.size());
  for (size_t server = 0; server < servers_.size(); ++server) {
    session::BodyWriter writer;
    for (const Asked& asked : servers_[server]) {
      wire::AppendRowIds(writer.Next(), asked.table, static_cast<uint32_t>(dimension_), asked.ids);
    }
    writer.MoveTo(&request.bodies[server]);
  }
}

void ServerPull::AskForTable(uint32_t table, const std::vector<uint64_t>& ids,
                             size_t first_position) {
  for (size_t i = 0; i < ids.size(); ++i) {
    if (FindInCache(table, ids[i], first_position + i)) continue;
    Asked& asked = AskedOf(RowServer(table, ids[i], layout_.server_count()), table);
    asked.positions.push_back(first_position + i);
    asked.ids.push_back(ids[i]);
  }
}

ServerPull::Asked& ServerPull::AskedOf(size_t server, uint32_t table) {
  std::vector<Asked>& frames = servers_[server];
  if (frames.empty() || frames.back().table != table ||
      frames.back().ids.size() == wire::RowsPerFrame(dimension_)) {
    frames.push_back({.table = table, .positions = {}, .ids = {}});
  }
  return frames.back();
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
  session::BodyReader reader(reply);
  for (const Asked& asked : servers_[server]) {
    WEIR_ASSIGN_OR_RETURN(const wire::FrameView frame, reader.Next());
    if (frame.header.tensor != asked.table) {
      return InvalidData(
          StrCat("it has rows of table ", frame.header.tensor, " instead of ", asked.table));
    }
    WEIR_RETURN_IF_ERROR(TakeFrame(frame, asked, rows));
  }
  if (reader.done()) return OkStatus();
  return InvalidData("it has rows that nobody asked for");
}

Status ServerPull::TakeFrame(const wire::FrameView& frame, const Asked& asked,
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
