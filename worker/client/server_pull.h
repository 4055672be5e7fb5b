// One batch's rows on their way: which were in the cache, what each server is asked for, and where
// the answers go.
//
// Place in the life of a batch: **pull rows**.
// Thread rule: thread-compatible; the cache is shared. Borrows layout and cache.
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
#include "worker/client/row_cache.h"
#include "worker/data/batch.h"
#include "worker/link/server_link.h"

namespace weir::worker {

class ServerPull : public RowPull {
 public:
  // cache: null when there is none, or it is not to be used. step: of the worker, which tells how
  // old rows in the cache are.
  ServerPull(const ModelLayout& layout, RowCache* cache, uint64_t step);

  // What to ask each server for; nothing where every row is at hand. Once.
  void Ask(const data::Batch& batch);

  // rows: [sum over tables of unique ids, dimension]. replies: a body per server. name: of a
  // server, for messages.
  Status Take(const std::vector<Body>& replies, std::span<float> rows,
              const std::function<std::string(size_t server)>& name);

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
  Status TakeReply(size_t server, const Body& reply, std::span<float> rows);
  Status TakeFrame(const wire::FrameView& frame, const Asked& asked, std::span<float> rows);

  const ModelLayout& layout_;
  RowCache* const cache_;
  const uint64_t step_;
  const size_t dimension_;
  std::vector<std::vector<Asked>> servers_;
  std::vector<size_t> cached_positions_;
  std::vector<float> cached_rows_;  // [cached_positions_, dimension]
  std::vector<float> values_;       // of a frame of a reply
};

}  // namespace weir::worker
