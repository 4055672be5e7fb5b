#include "tools/bench/exchange.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "common/base/strings.h"
#include "tools/bench/measure.h"

namespace weir::bench {
namespace {

using SteadyClock = std::chrono::steady_clock;

double SecondsSince(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

const Payload& Turn(const Payloads& payloads, int64_t i) {
  return payloads[static_cast<size_t>(i) % payloads.size()];
}

bool IsSame(ByteSpan got, ByteSpan sent, bool compare_all) {
  if (got.size() != sent.size()) return false;
  if (compare_all) return std::ranges::equal(got, sent);
  const size_t length = std::min<size_t>(got.size(), 64);
  for (const size_t begin : {size_t{0}, (got.size() - length) / 2, got.size() - length}) {
    if (!std::ranges::equal(got.subspan(begin, length), sent.subspan(begin, length))) return false;
  }
  return true;
}

Status ReceiveAndCheck(MessageEnd& end, const Payloads& expected, int64_t i, bool compare_all,
                       const char* what) {
  const auto got = end.Receive();
  if (!got) return DeadlineExceeded(StrCat(what, " ", i, " has not arrived"));
  if (IsSame(*got, Turn(expected, i).part.span(), compare_all)) return OkStatus();
  return Internal(StrCat(what, " ", i, " did not arrive as it was sent"));
}

Status Serve(MessageEnd& server, const Exchange& exchange) {
  for (int64_t i = 0; i < exchange.count; ++i) {
    WEIR_RETURN_IF_ERROR(
        ReceiveAndCheck(server, *exchange.requests, i, exchange.compare_all, "request"));
    WEIR_RETURN_IF_ERROR(server.Send(Turn(*exchange.replies, i)));
  }
  return OkStatus();
}

Result<ExchangeTimes> Ask(MessageEnd& client, const Exchange& exchange) {
  ExchangeTimes times;
  times.waits.reserve(static_cast<size_t>(exchange.count));
  const auto start = SteadyClock::now();
  int64_t sent = 0;
  for (int64_t reply = 0; reply < exchange.count; ++reply) {
    const auto sent_at = SteadyClock::now();
    for (; sent < std::min(exchange.count, reply + exchange.window); ++sent) {
      WEIR_RETURN_IF_ERROR(client.Send(Turn(*exchange.requests, sent)));
    }
    WEIR_RETURN_IF_ERROR(
        ReceiveAndCheck(client, *exchange.replies, reply, exchange.compare_all, "reply"));
    times.waits.push_back(SecondsSince(sent_at));
  }
  times.seconds = SecondsSince(start);
  return times;
}

}  // namespace

Payloads MakePayloads(size_t byte_count) {
  Payloads payloads;
  payloads.emplace_back(byte_count, 1);
  payloads.emplace_back(byte_count, 2);
  return payloads;
}

Result<ExchangeTimes> RunExchange(const MessageEnds& ends, const Exchange& exchange) {
  Status served;
  std::thread server([&] { served = Serve(*ends.server, exchange); });
  Result<ExchangeTimes> times = Ask(*ends.client, exchange);
  server.join();
  // Where one end fails the other waits in vain, and that is not what went wrong.
  if (!served.ok() && served.code() != StatusCode::kDeadlineExceeded) return served;
  if (times.ok()) WEIR_RETURN_IF_ERROR(served);
  return times;
}

Result<ExchangeTimes> RunBetweenNew(MakeEnds make_ends, const Exchange& exchange) {
  WEIR_ASSIGN_OR_RETURN(const MessageEnds ends, make_ends());
  Exchange warm_up = exchange;
  warm_up.count = 2 * exchange.window;
  warm_up.compare_all = true;
  WEIR_RETURN_IF_ERROR(RunExchange(ends, warm_up).status());
  return RunExchange(ends, exchange);
}

Result<BothEnds> CompareEnds(MakeEnds ours, MakeEnds peers, const Exchange& exchange, int turns,
                             const std::function<double(const ExchangeTimes&)>& value) {
  std::vector<double> our_values, peer_values;
  for (int turn = 0; turn < turns; ++turn) {
    WEIR_ASSIGN_OR_RETURN(const ExchangeTimes of_ours, RunBetweenNew(ours, exchange));
    WEIR_ASSIGN_OR_RETURN(const ExchangeTimes of_peers, RunBetweenNew(peers, exchange));
    our_values.push_back(value(of_ours));
    peer_values.push_back(value(of_peers));
  }
  return BothEnds{.ours = Median(std::move(our_values)), .peers = Median(std::move(peer_values))};
}

}  // namespace weir::bench
