// One batch's rows on their way: which were in the cache, what each server is asked for, and where
// the answers go.
//
// Place in the life of a batch: **pull rows**.
// Thread rule: thread-compatible; the cache is shared. Borrows layout and caches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/layout/model_layout.h"
#include "common/session/body.h"
#include "common/wire/frame.h"
#include "worker/client/parameter_client.h"
#include "worker/client/row_caches.h"
#include "worker/data/batch.h"
#include "worker/link/server_link.h"

namespace weir::worker {

class ServerPull : public RowPull {
 public:
  // keeps: rows may be taken from the caches, and those that arrive are kept. step: of the worker,
  // which tells how old rows in the caches are.
  ServerPull(const ModelLayout& layout, const RowCaches& caches, bool keeps, uint64_t step);
  ServerPull(const ServerPull&) = delete;
  ServerPull& operator=(const ServerPull&) = delete;
  ~ServerPull() override;

  // What to ask each server for; nothing where every row is at hand. Once.
  void Ask(const data::Batch& batch);

  // rows: [sum over tables of unique ids, dimension]. replies: a body per server. name: of a
  // server, for messages.
  using NameOf = std::function<std::string(size_t server)>;
  Status Take(const std::vector<Body>& replies, std::span<float> rows, const NameOf& name);
  // The same on a device, in the stream, where there is a cache.
  Status TakeOnDevice(const std::vector<Body>& replies, device::Stream& stream,
                      device::Pointer<float> rows, const NameOf& name);

  RowRequest request;

 private:
  // What a frame asks for. Positions are among all unique rows of the batch.
  struct Asked {
    uint32_t table = 0;
    std::vector<size_t> positions;
    std::vector<uint64_t> ids;  // of the positions
  };

  void AskForTable(uint32_t table, const std::vector<uint64_t>& ids, size_t first_position);
  // Where the next row of the table is to be asked for at this server.
  Asked& AskedOf(size_t server, uint32_t table);
  bool FindInCache(uint32_t table, uint64_t id, size_t position);
  // Called with each row that was asked for, the i-th of a frame.
  using Put = std::function<void(const Asked& asked, size_t i, std::span<const float> row)>;
  Status TakeReplies(const std::vector<Body>& replies, const NameOf& name, const Put& put);
  Status TakeReply(size_t server, const Body& reply, const Put& put);
  Status TakeFrame(const wire::FrameView& frame, const Asked& asked, const Put& put);

  const ModelLayout& layout_;
  const RowCaches& caches_;
  const bool keeps_;
  const uint64_t step_;
  const size_t dimension_;
  std::vector<std::vector<Asked>> servers_;
  std::vector<size_t> cached_positions_;
  std::vector<float> cached_rows_;  // [cached_positions_, dimension], on the host
  std::vector<size_t> held_slots_;  // of the same, on a device, until they are read
  std::vector<float> values_;       // of a frame of a reply
};

}  // namespace weir::worker
