#include "tools/bench/secured_messages.h"

#include <functional>
#include <string>

#include "common/base/strings.h"
#include "tools/bench/exchange.h"
#include "tools/bench/measure.h"

namespace weir::bench {
namespace {

constexpr const char* kPeer = "without keys";

Result<Line> Compare(const Options& options, const Exchange& exchange, Line line,
                     const std::function<double(const ExchangeTimes&)>& value) {
  WEIR_ASSIGN_OR_RETURN(const BothEnds both, CompareEnds(MakeSecuredEnds, MakeTransportEnds,
                                                         exchange, options.repeats, value));
  line.value = both.ours;
  line.peer = kPeer;
  line.peer_value = both.peers;
  return line;
}

Result<Line> LargeMessages(const Options& options, const std::string& name, size_t byte_count) {
  const Payloads large = MakePayloads(byte_count), tiny = MakePayloads(8);
  constexpr int64_t kBytes = 400 << 20;
  const int64_t count = kBytes / static_cast<int64_t>(byte_count);
  const Exchange exchange{
      .requests = &large, .replies = &tiny, .count = options.quick ? 4 : count, .window = 4};
  const double gigabytes =
      static_cast<double>(exchange.count) * static_cast<double>(byte_count) / 1e9;
  return Compare(options, exchange, {.name = StrCat("security/message/", name), .unit = "GB/s"},
                 [&](const ExchangeTimes& times) { return gigabytes / times.seconds; });
}

Result<Line> SmallRoundTrip(const Options& options) {
  const Payloads small = MakePayloads(200);
  const Exchange exchange{
      .requests = &small, .replies = &small, .count = options.quick ? 50 : 2'000};
  return Compare(options, exchange,
                 {.name = "security/round_trip", .unit = "us", .better = Better::kLess},
                 [](const ExchangeTimes& times) { return 1e6 * Median(times.waits); });
}

}  // namespace

Result<Lines> MeasureSecuredMessages(const Options& options) {
  Lines lines;
  WEIR_ASSIGN_OR_RETURN(lines.emplace_back(), LargeMessages(options, "1M", 1 << 20));
  WEIR_ASSIGN_OR_RETURN(lines.emplace_back(), LargeMessages(options, "16M", 16 << 20));
  WEIR_ASSIGN_OR_RETURN(lines.emplace_back(), SmallRoundTrip(options));
  return lines;
}

}  // namespace weir::bench
