#include "worker/push/body_sizes.h"

#include <algorithm>

namespace weir::worker {

std::vector<session::BodyWriter> BodySizes::MakeWriters(size_t server_count) const {
  std::vector<session::BodyWriter> writers(server_count);
  for (size_t i = 0; i < std::min(server_count, last_.size()); ++i) {
    writers[i] = session::BodyWriter(last_[i] + last_[i] / 8);
  }
  return writers;
}

void BodySizes::Remember(const std::vector<session::BodyWriter>& writers) {
  last_.resize(writers.size());
  for (size_t i = 0; i < writers.size(); ++i) last_[i] = writers[i].byte_count();
}

}  // namespace weir::worker
