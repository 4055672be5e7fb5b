#include "worker/client/server_pull.h"

#include <algorithm>
#include <utility>

#include "common/base/strings.h"
#include "common/wire/row_frame.h"

namespace weir::worker {

ServerPull::ServerPull(const ModelLayout& layout, const RowCaches& caches, bool keeps,
                       uint64_t step)
    : layout_(layout),
      caches_(caches),
      keeps_(keeps),
      step_(step),
      dimension_(static_cast<size_t>(layout.embedding_dimension())),
      servers_(layout.server_count()) {}

ServerPull::~ServerPull() {
  if (caches_.on_device != nullptr) caches_.on_device->Release(held_slots_);
}

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
  if (!keeps_) return false;
  bool is_found = false;
  if (caches_.on_device != nullptr) {
    is_found = caches_.on_device->Hold(table, id, step_, &held_slots_);
  } else if (caches_.on_host != nullptr) {
    const size_t size = cached_rows_.size();
    cached_rows_.resize(size + dimension_);
    is_found = caches_.on_host->Find(table, id, step_, std::span(cached_rows_).subspan(size));
    if (!is_found) cached_rows_.resize(size);
  }
  if (is_found) cached_positions_.push_back(position);
  return is_found;
}

Status ServerPull::Take(const std::vector<Body>& replies, std::span<float> rows,
                        const NameOf& name) {
  for (size_t i = 0; i < cached_positions_.size(); ++i) {
    std::copy_n(cached_rows_.data() + i * dimension_, dimension_,
                rows.data() + cached_positions_[i] * dimension_);
  }
  return TakeReplies(replies, name, [&](const Asked& asked, size_t i, std::span<const float> row) {
    std::ranges::copy(row, rows.data() + asked.positions[i] * dimension_);
    if (!keeps_ || caches_.on_host == nullptr) return;
    caches_.on_host->Put(asked.table, asked.ids[i], step_, row);
  });
}

Status ServerPull::TakeOnDevice(const std::vector<Body>& replies, device::Stream& stream,
                                device::Pointer<float> rows, const NameOf& name) {
  DeviceRowCache& cache = *caches_.on_device;
  size_t row_count = cached_positions_.size();
  for (const auto& frames : servers_) {
    for (const Asked& asked : frames) row_count += asked.ids.size();
  }
  auto arrivals = cache.Begin(stream, row_count);
  for (size_t i = 0; i < held_slots_.size(); ++i) {
    arrivals->AddHeld(held_slots_[i], cached_positions_[i]);
  }
  WEIR_RETURN_IF_ERROR(
      TakeReplies(replies, name, [&](const Asked& asked, size_t i, std::span<const float> row) {
        arrivals->Add(asked.table, asked.ids[i], step_, asked.positions[i], row, keeps_);
      }));
  cache.Place(std::move(arrivals), rows);
  cache.Release(held_slots_);
  held_slots_.clear();
  return OkStatus();
}

Status ServerPull::TakeReplies(const std::vector<Body>& replies, const NameOf& name,
                               const Put& put) {
  for (size_t server = 0; server < replies.size(); ++server) {
    if (servers_[server].empty()) continue;
    const Status status = TakeReply(server, replies[server], put);
    if (status.ok()) continue;
    return InvalidData(StrCat(name(server), " sent a damaged row reply: ", status.message()));
  }
  return OkStatus();
}

Status ServerPull::TakeReply(size_t server, const Body& reply, const Put& put) {
  session::BodyReader reader(reply);
  for (const Asked& asked : servers_[server]) {
    WEIR_ASSIGN_OR_RETURN(const wire::FrameView frame, reader.Next());
    if (frame.header.tensor != asked.table) {
      return InvalidData(
          StrCat("it has rows of table ", frame.header.tensor, " instead of ", asked.table));
    }
    WEIR_RETURN_IF_ERROR(TakeFrame(frame, asked, put));
  }
  if (reader.done()) return OkStatus();
  return InvalidData("it has rows that nobody asked for");
}

Status ServerPull::TakeFrame(const wire::FrameView& frame, const Asked& asked, const Put& put) {
  WEIR_RETURN_IF_ERROR(wire::DecodeRowValues(frame, static_cast<uint32_t>(dimension_),
                                             static_cast<uint32_t>(asked.positions.size()),
                                             &values_));
  for (size_t i = 0; i < asked.positions.size(); ++i) {
    put(asked, i, std::span(values_).subspan(i * dimension_, dimension_));
  }
  return OkStatus();
}

}  // namespace weir::worker
