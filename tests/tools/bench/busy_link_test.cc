#include "tools/bench/busy_link.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "common/base/bytes.h"

namespace weir::bench {
namespace {

using Pace = Traffic::Pace;

TEST(BusyLink, SendsAPushForEachStep) {
  for (const int messages : {1, 9}) {
    for (const int64_t steps : {0, 1, 50}) {
      BusyLink link({Pace::kEachStep, 9000, messages}, MakeTransportEnds().value());
      for (int64_t i = 0; i < steps; ++i) link.StepDone();
      EXPECT_TRUE(link.Stop().ok());
      EXPECT_EQ(link.sent_bytes(), steps * 9000);
    }
  }
}

TEST(BusyLink, SendsNothingWhereNothingIsToBeSent) {
  BusyLink link({}, MakeTransportEnds().value());
  link.StepDone();
  EXPECT_TRUE(link.Stop().ok());
  EXPECT_EQ(link.sent_bytes(), 0);
}

TEST(BusyLink, SendsWithoutStepsUntilItIsStopped) {
  for (const Traffic& traffic :
       {Traffic{Pace::kAlways, 9000}, Traffic{Pace::kByRate, 9000, 1, 1e7}}) {
    BusyLink link(traffic, MakeTransportEnds().value());
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_TRUE(link.Stop().ok());
    EXPECT_GT(link.sent_bytes(), 0);
  }
}

// Its messages arrive with another byte at the end.
class Damaging final : public MessageEnd {
 public:
  explicit Damaging(std::unique_ptr<MessageEnd> end) : end_(std::move(end)) {}
  Status Send(const Payload& payload) override { return end_->Send(payload); }
  std::optional<ByteSpan> Receive() override {
    const auto got = end_->Receive();
    if (!got) return got;
    bytes_.assign(got->begin(), got->end());
    if (bytes_.size() > 1) bytes_.back() ^= 1;
    return ByteSpan(bytes_);
  }

 private:
  const std::unique_ptr<MessageEnd> end_;
  Bytes bytes_;
};

TEST(BusyLink, NoticesAnswersThatAreOthers) {
  MessageEnds ends = MakeTransportEnds().value();
  ends.client = std::make_unique<Damaging>(std::move(ends.client));
  BusyLink link({Pace::kEachStep, 9000}, std::move(ends));
  link.StepDone();
  EXPECT_FALSE(link.Stop().ok());
}

}  // namespace
}  // namespace weir::bench
