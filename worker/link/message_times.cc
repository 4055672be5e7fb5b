#include "worker/link/message_times.h"

#include <algorithm>
#include <utility>

#include "common/base/clock.h"

namespace weir::worker {
namespace {

constexpr int kBurstMessages = 6;
constexpr int kMostRounds = 5;
// Slow connections are measured less often, and with no burst that may take longer: whoever is owed
// a reply for seconds gives the connection up.
constexpr double kEnoughSeconds = 1;
constexpr int64_t kLeastBytes = 64;
// Of a push, in each message of a burst. Four times as many bytes take four times as long at most.
constexpr double kShares[] = {1.0 / 256, 1.0 / 64, 1.0 / 16, 0.25, 1};
constexpr double kNextShare = 4;

// As large as that share of a push, for each server.
std::vector<int64_t> SizesOf(std::span<const int64_t> server_bytes, double share) {
  std::vector<int64_t> sizes;
  for (const int64_t bytes : server_bytes) {
    const auto size = static_cast<int64_t>(share * static_cast<double>(bytes));
    sizes.push_back(bytes > 0 ? std::max(size, kLeastBytes) : 0);
  }
  return sizes;
}

std::vector<Body> BodiesOf(const std::vector<int64_t>& sizes) {
  std::vector<Body> bodies(sizes.size());
  for (size_t server = 0; server < sizes.size(); ++server) {
    for (auto left = static_cast<size_t>(sizes[server]); left > 0;) {
      const size_t part_bytes = std::min(left, session::kPartBytes);
      bodies[server].emplace_back(Bytes(part_bytes));
      left -= part_bytes;
    }
  }
  return bodies;
}

Result<schedule::Measurement> MeasureBurst(const std::vector<int64_t>& sizes, ServerLink* link) {
  std::vector<uint64_t> ids;
  for (int i = 0; i < kBurstMessages; ++i) ids.push_back(link->SubmitProbe(BodiesOf(sizes)));
  schedule::Measurement burst;
  for (const int64_t size : sizes) burst.size += size;
  double first = 0, last = 0;
  for (const uint64_t id : ids) {
    WEIR_ASSIGN_OR_RETURN(last, link->AwaitProbe(id));
    if (id == ids.front()) first = last;
  }
  burst.seconds = std::max(0.0, last - first) / (kBurstMessages - 1);
  return burst;
}

}  // namespace

Result<std::vector<schedule::Measurement>> MeasureMessages(std::span<const int64_t> server_bytes,
                                                           ServerLink* link) {
  std::vector<schedule::Measurement> measurements;
  const double begin = MonotonicSeconds();
  for (int round = 0; round < kMostRounds; ++round) {
    for (const double share : kShares) {
      WEIR_ASSIGN_OR_RETURN(const schedule::Measurement burst,
                            MeasureBurst(SizesOf(server_bytes, share), link));
      measurements.push_back(burst);
      if (kNextShare * kBurstMessages * burst.seconds > kEnoughSeconds) break;
    }
    if (MonotonicSeconds() - begin > kEnoughSeconds) break;
  }
  return measurements;
}

}  // namespace weir::worker
