#include "tools/bench/exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace weir::bench {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

constexpr size_t kBytes = 1000;
constexpr int64_t kCount = 20;

// One direction between two ends.
class Channel {
 public:
  void Put(Bytes message) {
    const std::lock_guard lock(mutex_);
    messages_.push_back(std::move(message));
    arrived_.notify_one();
  }
  // Gives up soon where something went wrong, and much may be in vain.
  std::optional<Bytes> Take(const std::atomic<bool>& is_wrong) {
    std::unique_lock lock(mutex_);
    const auto is_there = [&] { return !messages_.empty(); };
    for (int waits = 0; !arrived_.wait_for(lock, std::chrono::milliseconds(10), is_there);) {
      if (++waits > (is_wrong ? 5 : 1000)) return std::nullopt;
    }
    Bytes message = std::move(messages_.front());
    messages_.pop_front();
    return message;
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Bytes> messages_;
};

struct Channels {
  Channel up, down;
  std::atomic<bool> is_wrong = false;  // a message was changed or lost
};

// What becomes of the message that is the number-th of its end, from 0.
enum class Fate { kArrives, kArrivesChanged, kIsLost };
using Tamper = std::function<Fate(int64_t number, Bytes* message)>;

class FakeEnd : public MessageEnd {
 public:
  FakeEnd(Channels& channels, bool is_client, Tamper tamper)
      : channels_(channels),
        out_(is_client ? channels.up : channels.down),
        in_(is_client ? channels.down : channels.up),
        tamper_(std::move(tamper)) {}

  Status Send(const Payload& payload) override {
    const ByteSpan bytes = payload.part.span();
    Bytes message(bytes.begin(), bytes.end());
    const Fate fate = tamper_(number_++, &message);
    if (fate != Fate::kIsLost) out_.Put(std::move(message));
    if (fate != Fate::kArrives) channels_.is_wrong = true;
    return OkStatus();
  }
  std::optional<ByteSpan> Receive() override {
    auto message = in_.Take(channels_.is_wrong);
    if (!message) return std::nullopt;
    received_ = *std::move(message);
    return ByteSpan(received_);
  }

 private:
  Channels& channels_;
  Channel &out_, &in_;
  const Tamper tamper_;
  int64_t number_ = 0;
  Bytes received_;
};

Fate LeaveAlone(int64_t /*number*/, Bytes* /*message*/) { return Fate::kArrives; }

// The status of an exchange in which messages of one way are tampered with.
struct Wrong {
  Tamper requests = LeaveAlone, replies = LeaveAlone;
  bool compare_all = false;
  int64_t window = 4;

  Status Run() const {
    Channels channels;
    const Payloads payloads = MakePayloads(kBytes);
    MessageEnds ends = {.client = std::make_unique<FakeEnd>(channels, true, requests),
                        .server = std::make_unique<FakeEnd>(channels, false, replies)};
    return RunExchange(ends, {.requests = &payloads,
                              .replies = &payloads,
                              .count = kCount,
                              .window = window,
                              .compare_all = compare_all})
        .status();
  }
};

// The twelfth alone.
Tamper ChangeTwelfth(std::function<void(Bytes* message)> change) {
  return [change = std::move(change)](int64_t number, Bytes* message) {
    if (number != 11) return Fate::kArrives;
    change(message);
    return Fate::kArrivesChanged;
  };
}
Tamper FlipAt(size_t byte) {
  return ChangeTwelfth([byte](Bytes* message) { (*message)[byte] ^= 1; });
}
Fate LoseTwelfth(int64_t number, Bytes* /*message*/) {
  return number == 11 ? Fate::kIsLost : Fate::kArrives;
}

TEST(Exchange, AcceptsWhatArrivesAsItWasSent) {
  for (const bool compare_all : {false, true}) {
    for (const int64_t window : {1, 4}) {
      const Status status = Wrong{.compare_all = compare_all, .window = window}.Run();
      EXPECT_TRUE(status.ok()) << status;
    }
  }
}

TEST(Exchange, RefusesOneBitOfDifferenceAnywhereWhereAllIsCompared) {
  for (const size_t byte : {size_t{0}, size_t{300}, kBytes / 2, kBytes - 1}) {
    const Tamper flip = FlipAt(byte);
    EXPECT_THAT((Wrong{.requests = flip, .compare_all = true}.Run().message()),
                HasSubstr("request 11 did not arrive as it was sent"))
        << byte;
    EXPECT_THAT((Wrong{.replies = flip, .compare_all = true}.Run().message()),
                HasSubstr("reply 11 did not arrive as it was sent"))
        << byte;
  }
}

TEST(Exchange, RefusesADifferenceAtTheEndsAndInTheMiddleOtherwise) {
  for (const size_t byte : {size_t{0}, kBytes / 2, kBytes - 1}) {
    EXPECT_THAT(Wrong{.replies = FlipAt(byte)}.Run().message(),
                HasSubstr("reply 11 did not arrive as it was sent"))
        << byte;
  }
}

TEST(Exchange, RefusesAnotherLength) {
  for (const bool compare_all : {false, true}) {
    for (const size_t length : {kBytes - 1, kBytes + 1, size_t{0}}) {
      const Tamper resize = ChangeTwelfth([length](Bytes* message) { message->resize(length); });
      EXPECT_THAT((Wrong{.requests = resize, .compare_all = compare_all}.Run().message()),
                  HasSubstr("request 11 did not arrive as it was sent"))
          << length;
    }
  }
}

// In the place of the twelfth comes the thirteenth, which has another payload; on a machine so busy
// that one end gives up first, nothing does.
TEST(Exchange, RefusesWhatFollowsALostMessage) {
  EXPECT_THAT(
      Wrong{.requests = LoseTwelfth}.Run().message(),
      AnyOf(HasSubstr("request 11 did not arrive as it was sent"), HasSubstr(" has not arrived")));
  EXPECT_THAT(Wrong{.replies = LoseTwelfth}.Run().message(), HasSubstr("reply 11 "));
}

TEST(Exchange, RefusesSilence) {
  EXPECT_THAT((Wrong{.requests = LoseTwelfth, .window = 1}.Run().message()),
              HasSubstr("reply 11 has not arrived"));
  EXPECT_THAT((Wrong{.replies = LoseTwelfth, .window = 1}.Run().message()),
              HasSubstr("reply 11 has not arrived"));
}

}  // namespace
}  // namespace weir::bench
