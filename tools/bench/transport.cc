// common/transport beside raw libzmq: pushes (large request, tiny reply), pulls (the reverse), many
// small messages, the round trip of one, and that of a push through worker and server; and whether
// large messages cost more than their bytes.

#include <functional>
#include <span>

#include "common/base/strings.h"
#include "tools/bench/exchange.h"
#include "tools/bench/large_messages.h"
#include "tools/bench/link_ends.h"
#include "tools/bench/measure.h"
#include "tools/bench/sections.h"

namespace weir::bench {
namespace {

constexpr const char* kPeer = "raw libzmq, DEALER to ROUTER";
constexpr int64_t kWindow = 16;

// Each repeat is so many turns, because what the kernel gives to four threads varies a lot.
constexpr int kTurns = 3;

struct Size {
  const char* name;
  size_t byte_count;
  int64_t messages;  // some hundredths of a second
  // Of small ones ps-lite's share of raw libzmq's rate, as both were once recorded on one machine
  // (GB/s); of large ones more than ps-lite has.
  double push_goal;
  double pull_goal;
};

constexpr Size kSizes[] = {
    {"4K", 4 << 10, 4'000, 0.21 / 0.76, 0.19 / 0.76},
    {"64K", 64 << 10, 1'600, 1.7 / 2.7, 1.3 / 2.7},
    {"1M", 1 << 20, 160, 0.9, 0.9},
    {"16M", 16 << 20, 24, 0.9, 0.9},
};

Result<BothEnds> MeasureBoth(const Options& options, const Exchange& exchange,
                             const std::function<double(const ExchangeTimes&)>& value) {
  return CompareEnds(MakeTransportEnds, MakeRawZmqEnds, exchange, options.repeats * kTurns, value);
}

Result<Line> Goodput(const Options& options, const std::string& name, const Size& size,
                     bool is_push, double goal) {
  const Payloads large = MakePayloads(size.byte_count), tiny = MakePayloads(8);
  const int64_t count = options.quick ? 2 * kWindow : size.messages;
  const Exchange exchange{.requests = is_push ? &large : &tiny,
                          .replies = is_push ? &tiny : &large,
                          .count = count,
                          .window = kWindow};
  const double gigabytes = static_cast<double>(count) * static_cast<double>(size.byte_count) / 1e9;
  WEIR_ASSIGN_OR_RETURN(const BothEnds both,
                        MeasureBoth(options, exchange, [&](const ExchangeTimes& times) {
                          return gigabytes / times.seconds;
                        }));
  return Line{.name = StrCat("transport/", name, "/", size.name),
              .value = both.ours,
              .unit = "GB/s",
              .peer = kPeer,
              .peer_value = both.peers,
              .goal = goal};
}

Result<Line> SmallMessages(const Options& options) {
  const Payloads small = MakePayloads(64);
  const Exchange exchange{.requests = &small,
                          .replies = &small,
                          .count = options.quick ? 1024 : 512 * 256,
                          .window = 256};  // far from filling a queue
  WEIR_ASSIGN_OR_RETURN(const BothEnds both,
                        MeasureBoth(options, exchange, [&](const ExchangeTimes& times) {
                          return static_cast<double>(exchange.count) / times.seconds;
                        }));
  return Line{.name = "transport/small_messages",
              .value = both.ours,
              .unit = "messages/s",
              .peer = kPeer,
              .peer_value = both.peers,
              .goal = 0.178 / 4.4};  // ps-lite / raw libzmq, M messages/s, as above
}

Result<Line> RoundTrip(const Options& options) {
  const Payloads small = MakePayloads(64);
  const Exchange exchange{.requests = &small, .replies = &small, .count = options.quick ? 50 : 500};
  WEIR_ASSIGN_OR_RETURN(const BothEnds both,
                        MeasureBoth(options, exchange, [&](const ExchangeTimes& times) {
                          return 1e6 * Median(times.waits);
                        }));
  return Line{.name = "transport/round_trip",
              .value = both.ours,
              .unit = "us",
              .peer = kPeer,
              .peer_value = both.peers,
              .better = Better::kLess};
}

Result<double> MedianPushSeconds(int64_t count) {
  WEIR_ASSIGN_OR_RETURN(LinkEnds link, LinkEnds::Make());
  std::vector<double> seconds;
  for (int64_t i = 0; i < count; ++i) {
    Status status;
    seconds.push_back(Seconds([&] { status = link.Push(); }));
    WEIR_RETURN_IF_ERROR(status);
  }
  return Median(std::move(seconds));
}

// Of a push of a few elements, with the threads of both ends in between, as ps-lite's has them.
Result<Line> PushRoundTrip(const Options& options) {
  const Payloads small = MakePayloads(64);
  const Exchange exchange{.requests = &small, .replies = &small, .count = options.quick ? 50 : 500};
  std::vector<double> our_values, raw_values;
  for (int turn = 0; turn < options.repeats * kTurns; ++turn) {
    WEIR_ASSIGN_OR_RETURN(const double seconds, MedianPushSeconds(exchange.count));
    WEIR_ASSIGN_OR_RETURN(const ExchangeTimes raw, RunBetweenNew(MakeRawZmqEnds, exchange));
    our_values.push_back(1e6 * seconds);
    raw_values.push_back(1e6 * Median(raw.waits));
  }
  return Line{.name = "transport/push_round_trip",
              .value = Median(our_values),
              .unit = "us",
              .peer = kPeer,
              .peer_value = Median(raw_values),
              .goal = 1 / 1.4,  // ps-lite's was once 178 us, raw libzmq's 92
              .better = Better::kLess};
}

}  // namespace

Result<Lines> BenchTransport(const Options& options) {
  Lines lines;
  const std::span<const Size> sizes(kSizes);
  for (const Size& size : options.quick ? sizes.first(2) : sizes) {
    WEIR_ASSIGN_OR_RETURN(lines.emplace_back(),
                          Goodput(options, "push", size, true, size.push_goal));
    WEIR_ASSIGN_OR_RETURN(lines.emplace_back(),
                          Goodput(options, "pull", size, false, size.pull_goal));
  }
  WEIR_ASSIGN_OR_RETURN(lines.emplace_back(), SmallMessages(options));
  WEIR_ASSIGN_OR_RETURN(lines.emplace_back(), RoundTrip(options));
  WEIR_ASSIGN_OR_RETURN(lines.emplace_back(), PushRoundTrip(options));
  WEIR_ASSIGN_OR_RETURN(const Lines large, MeasureLargeMessages(options));
  lines.insert(lines.end(), large.begin(), large.end());
  return lines;
}

}  // namespace weir::bench
