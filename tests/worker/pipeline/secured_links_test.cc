// A stage's link where processes have keys: only the stage before it hands it batches, and it hands
// its own to the stage behind it alone.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/transport/zmq_transport.h"
#include "worker/pipeline/stage_links.h"

namespace weir::worker {
namespace {

using transport::KeyList;
using transport::KeyPair;

constexpr const char* kBefore = "trainer 0";
constexpr const char* kListening = "trainer 0 stage 1";
constexpr uint64_t kGeneration = 5;

transport::Limits WatchedLimits() {
  transport::Limits limits;
  limits.max_stranger_bytes = 1 << 20;
  return limits;
}

class SecuredLink : public testing::Test {
 protected:
  SecuredLink() {
    EXPECT_TRUE(listening_.Listen().ok());
    listening_.Begin(
        [this](const v1::Header& header, const transport::Message&) {
          batches_.push_back(header.stage_forward().batch());
        },
        [](const Status& status) { ADD_FAILURE() << status; },
        [](uint64_t) { ADD_FAILURE() << "nothing is damaged"; });
    view_.set_generation(kGeneration);
    view_.add_stages()->set_incarnation(1);
    view_.add_stages()->set_incarnation(1);
    view_.mutable_stages(1)->set_link_address(listening_.address());
    listening_.SetView(view_);
  }

  static std::shared_ptr<KeyList> ListOf(KeyList::Keys keys) {
    return std::make_shared<KeyList>(std::move(keys));
  }
  // Whether a batch of who says that it is the stage before arrives, in so many steps.
  bool Hears(const std::optional<transport::Security>& security, int steps = 15) {
    StageLinks before({.stage = 0}, nullptr,
                      transport::MakeZmqClientTransport(WatchedLimits(), security));
    before.Begin([](const auto&, const auto&) {}, [](const Status&) {}, [](uint64_t) {});
    before.SetView(view_);
    v1::Header header;
    header.mutable_stage_forward()->set_generation(kGeneration);
    header.mutable_stage_forward()->set_batch(++next_batch_);
    before.Send(header, {});
    const size_t heard = batches_.size();
    for (int i = 0; i < steps && batches_.size() == heard; ++i) {
      before.Step(10);
      listening_.Step(10);
    }
    return batches_.size() > heard && batches_.back() == next_batch_;
  }
  void ExpectTheRightOneIsHeard() { EXPECT_TRUE(Hears(transport::Security{before_, all_}, 500)); }

  static KeyPair NewPair() { return transport::MakeKeyPair().value(); }
  const KeyPair own_ = NewPair(), before_ = NewPair(), other_ = NewPair(), stranger_ = NewPair();
  const std::shared_ptr<KeyList> all_ = ListOf({{kListening, own_.public_key},
                                                {kBefore, before_.public_key},
                                                {"trainer 1", other_.public_key}});
  StageLinks listening_{
      {.stage = 1, .listen_address = "tcp://127.0.0.1:0"},
      transport::MakeZmqServerTransport(WatchedLimits(), transport::Security{own_, all_}),
      nullptr};
  v1::PipelineView view_;
  std::vector<uint64_t> batches_;
  uint64_t next_batch_ = 0;
};

TEST_F(SecuredLink, HearsTheStageBefore) { ExpectTheRightOneIsHeard(); }

TEST_F(SecuredLink, HearsNobodyWithoutAKey) {
  EXPECT_FALSE(Hears(std::nullopt));
  ExpectTheRightOneIsHeard();
}

TEST_F(SecuredLink, HearsNoKeyThatIsNotOnTheList) {
  EXPECT_FALSE(Hears(transport::Security{stranger_, all_}));
  ExpectTheRightOneIsHeard();
}

TEST_F(SecuredLink, HearsNoKeyOfAnotherSeat) {
  EXPECT_FALSE(Hears(transport::Security{other_, all_}));
  ExpectTheRightOneIsHeard();
}

TEST_F(SecuredLink, IsNotSpokenToByWhoExpectsAnotherStage) {
  const auto wrong = ListOf({{kListening, stranger_.public_key}, {kBefore, before_.public_key}});
  EXPECT_FALSE(Hears(transport::Security{before_, wrong}));
  ExpectTheRightOneIsHeard();
}

TEST_F(SecuredLink, HearsNoKeyThatWasTakenOffTheList) {
  ExpectTheRightOneIsHeard();
  all_->Replace({{kListening, own_.public_key}});
  const auto as_before = ListOf({{kListening, own_.public_key}, {kBefore, before_.public_key}});
  EXPECT_FALSE(Hears(transport::Security{before_, as_before}));
}

}  // namespace
}  // namespace weir::worker
