#include "server/coordinator/loading_book.h"

#include <algorithm>

namespace weir::server {
namespace {

// A peer's numbers may be any.
uint64_t LeftBytes(const v1::Loading& loading) {
  return loading.total_bytes() - std::min(loading.done_bytes(), loading.total_bytes());
}

}  // namespace

void LoadingBook::Finish(uint32_t server) {
  const auto found = servers_.find(server);
  if (found == servers_.end()) return;
  found->second.is_finished = true;
  found->second.loading.set_done_bytes(found->second.loading.total_bytes());
}

bool LoadingBook::is_any() const {
  return std::ranges::any_of(servers_, [](const auto& entry) { return !entry.second.is_finished; });
}

v1::Loading LoadingBook::sum() const {
  v1::Loading sum;
  for (const auto& [server, entry] : servers_) {
    sum.set_done_bytes(sum.done_bytes() + entry.loading.done_bytes());
    sum.set_total_bytes(sum.total_bytes() + entry.loading.total_bytes());
  }
  return sum;
}

LoadingBook::Slowest LoadingBook::slowest() const {
  Slowest slowest;
  bool is_first = true;
  for (const auto& [server, entry] : servers_) {
    if (entry.is_finished) continue;
    if (!is_first && LeftBytes(entry.loading) <= LeftBytes(slowest.loading)) continue;
    slowest = {server, entry.loading};
    is_first = false;
  }
  return slowest;
}

}  // namespace weir::server
