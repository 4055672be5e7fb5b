#include "worker/pipeline/stage_links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <thread>
#include <vector>

#include "common/session/header_message.h"
#include "common/transport/loopback.h"
#include "common/wire/score_frame.h"
#include "tests/support/no_memory_client.h"

namespace weir::worker {
namespace {

constexpr char kAddress[] = "inproc://link";

v1::Header Forward(uint32_t from_stage, uint64_t generation, uint64_t batch) {
  v1::Header header;
  v1::StageForward& forward = *header.mutable_stage_forward();
  forward.set_from_stage(from_stage);
  forward.set_generation(generation);
  forward.set_batch(batch);
  return header;
}

v1::Header Backward(uint64_t generation, uint64_t batch) {
  v1::Header header;
  v1::StageBackward& backward = *header.mutable_stage_backward();
  backward.set_from_stage(1);
  backward.set_generation(generation);
  backward.set_batch(batch);
  return header;
}

v1::PipelineView View(uint64_t generation) {
  v1::PipelineView view;
  view.set_generation(generation);
  view.add_stages()->set_incarnation(1);
  view.add_stages()->set_incarnation(1);
  view.mutable_stages(1)->set_link_address(kAddress);
  return view;
}

// A stage's links and what came over them.
class End {
 public:
  End(uint32_t stage, transport::LoopbackNetwork* network)
      : links_({.trainer = 0,
                .stage = stage,
                .stage_count = 2,
                .listen_address = kAddress,
                .advertised_address = ""},
               stage == 0 ? nullptr : network->MakeServer(),
               stage == 0 ? network->MakeClient() : nullptr) {
    EXPECT_TRUE(links_.Listen().ok());
    links_.Start(
        [this](const v1::Header& header, const transport::Message&) {
          std::lock_guard lock(mutex_);
          batches_.push_back(header.has_stage_forward() ? header.stage_forward().batch()
                                                        : header.stage_backward().batch());
          changed_.notify_all();
        },
        [](const Status& status) { ADD_FAILURE() << status; },
        [this](uint64_t generation) {
          std::lock_guard lock(mutex_);
          damaged_.push_back(generation);
          changed_.notify_all();
        });
  }

  std::vector<uint64_t> Await(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(20), [&] { return batches_.size() >= count; });
    return batches_;
  }

  // The generations of which something came damaged.
  std::vector<uint64_t> AwaitDamage(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(20), [&] { return damaged_.size() >= count; });
    return damaged_;
  }

  StageLinks& links() { return links_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<uint64_t> batches_, damaged_;
  StageLinks links_;
};

TEST(StageLinks, CarryBatchesBothWaysInOrder) {
  transport::LoopbackNetwork network;
  End second(1, &network), first(0, &network);
  EXPECT_EQ(second.links().address(), kAddress);
  EXPECT_EQ(first.links().address(), "");
  second.links().SetView(View(5));
  first.links().SetView(View(5));
  for (uint64_t batch = 1; batch <= 3; ++batch) first.links().Send(Forward(0, 5, batch), {});
  EXPECT_EQ(second.Await(3), (std::vector<uint64_t>{1, 2, 3}));
  second.links().Send(Backward(5, 2), {});
  second.links().Send(Backward(5, 1), {});
  EXPECT_EQ(first.Await(2), (std::vector<uint64_t>{2, 1}));
  EXPECT_EQ(first.links().NextName(), "trainer 0 stage 1 at inproc://link");
}

TEST(StageLinks, CarryBatchesByStepsOfOneThread) {
  transport::LoopbackNetwork network;
  StageLinks first({.stage = 0, .listen_address = ""}, nullptr, network.MakeClient());
  StageLinks second({.stage = 1, .listen_address = kAddress}, network.MakeServer(), nullptr);
  ASSERT_TRUE(second.Listen().ok());
  std::vector<uint64_t> came_back;
  const auto fail = [](const Status& status) { ADD_FAILURE() << status; };
  const auto damage = [](uint64_t) { ADD_FAILURE() << "nothing is damaged"; };
  const auto take = [&](const v1::Header& header, const transport::Message&) {
    came_back.push_back(header.stage_backward().batch());
  };
  const auto turn_around = [&](const v1::Header& header, const transport::Message&) {
    second.Send(Backward(5, header.stage_forward().batch()), {});
  };
  first.Begin(take, fail, damage);
  second.Begin(turn_around, fail, damage);
  for (StageLinks* links : {&first, &second}) links->SetView(View(5));
  for (uint64_t batch = 1; batch <= 2; ++batch) first.Send(Forward(0, 5, batch), {});
  for (int turn = 0; turn < 4; ++turn) {
    EXPECT_TRUE(first.Step(0) && second.Step(0));
  }
  EXPECT_EQ(came_back, (std::vector<uint64_t>{1, 2}));
}

TEST(StageLinks, FailWhenTheyRunOutOfMemory) {
  transport::LoopbackNetwork network;
  auto client = std::make_unique<test::NoMemoryClient>(network.MakeClient());
  client->RunOut();
  StageLinks links({.trainer = 0,
                    .stage = 0,
                    .stage_count = 2,
                    .listen_address = kAddress,
                    .advertised_address = ""},
                   nullptr, std::move(client));
  std::promise<Status> end;
  links.Start([](const v1::Header&, const transport::Message&) {},
              [&](const Status& status) { end.set_value(status); }, [](uint64_t) {});
  auto ended = end.get_future();
  ASSERT_EQ(ended.wait_for(std::chrono::seconds(60)), std::future_status::ready);
  EXPECT_EQ(ended.get().code(), StatusCode::kResourceExhausted);
}

TEST(StageLinks, DropWhatIsOfAnotherGeneration) {
  transport::LoopbackNetwork network;
  End second(1, &network), first(0, &network);
  second.links().SetView(View(6));
  first.links().SetView(View(5));
  first.links().Send(Forward(0, 5, 1), {});
  first.links().Send(Forward(0, 4, 2), {});  // it does not even leave
  first.links().SetView(View(6));
  first.links().Send(Forward(0, 6, 3), {});
  EXPECT_EQ(second.Await(1), (std::vector<uint64_t>{3}));
  second.links().Send(Backward(5, 1), {});
  second.links().Send(Backward(6, 3), {});
  EXPECT_EQ(first.Await(1), (std::vector<uint64_t>{3}));
}

// Who is at the address now may never have heard of the connection that was.
TEST(StageLinks, OpenAnotherConnectionForEachGenerationThoughTheAddressStays) {
  transport::LoopbackNetwork network;
  const auto second = network.MakeServer();
  ASSERT_TRUE(second->Bind(kAddress).ok());
  End first(0, &network);
  transport::PeerId before;
  for (const uint64_t generation : {5, 6, 7}) {
    first.links().SetView(View(generation));
    first.links().Send(Forward(0, generation, 1), {});
    const auto incoming = second->Receive(20'000);
    ASSERT_TRUE(incoming);
    EXPECT_EQ(session::ParseHeader(incoming->message)->stage_forward().generation(), generation);
    EXPECT_NE(incoming->peer, before);
    if (!before.empty()) {
      EXPECT_EQ(second->Send(before, session::MakeMessage(Backward(generation, 1))).code(),
                StatusCode::kNotFound);
    }
    before = incoming->peer;
  }
}

Bytes SomeFrame() {
  Bytes frame;
  const float score = 1;
  const uint8_t label = 0;
  wire::AppendScores(&frame, {&score, 1}, {&label, 1});
  return frame;
}

session::Body Damaged() {
  Bytes frame = SomeFrame();
  frame.back() ^= 4;
  return session::ToBody({std::move(frame)});
}

TEST(StageLinks, SayOnceAGenerationThatSomethingCameDamagedAndDropIt) {
  transport::LoopbackNetwork network;
  End second(1, &network), first(0, &network);
  for (const uint64_t generation : {5, 6}) {
    second.links().SetView(View(generation));
    first.links().SetView(View(generation));
    first.links().Send(Forward(0, generation, 1), Damaged());
    first.links().Send(Forward(0, generation, 2), Damaged());
    first.links().Send(Forward(0, generation, generation), session::ToBody({SomeFrame()}));
    second.Await(generation - 4);
    second.links().Send(Backward(generation, 1), Damaged());
    first.AwaitDamage(generation - 4);
  }
  EXPECT_EQ(second.Await(2), (std::vector<uint64_t>{5, 6}));
  EXPECT_EQ(second.AwaitDamage(2), (std::vector<uint64_t>{5, 6}));
  EXPECT_EQ(first.AwaitDamage(2), (std::vector<uint64_t>{5, 6}));
}

// As a program would do it, or a machine on the way.
TEST(StageLinks, EndWhereNothingComesWholeInGenerationsOneAfterTheOther) {
  transport::LoopbackNetwork network;
  const auto next = network.MakeServer();
  ASSERT_TRUE(next->Bind(kAddress).ok());
  StageLinks links({.trainer = 0, .stage = 0, .stage_count = 2, .listen_address = kAddress},
                   nullptr, network.MakeClient());
  std::promise<Status> end;
  std::atomic<uint64_t> damaged = 0;
  links.Start([](const v1::Header&, const transport::Message&) {},
              [&](const Status& status) { end.set_value(status); },
              [&](uint64_t generation) { damaged = generation; });
  for (const uint64_t generation : {5, 6, 7}) {
    links.SetView(View(generation));
    links.Send(Forward(0, generation, 1), {});
    const auto incoming = next->Receive(20'000);
    ASSERT_TRUE(incoming);
    ASSERT_TRUE(
        next->Send(incoming->peer, session::MakeMessage(Backward(generation, 1), Damaged())).ok());
    while (generation < 7 && damaged != generation) std::this_thread::yield();
  }
  EXPECT_THAT(end.get_future().get().message(), testing::HasSubstr("from trainer 0 stage 1"));
}

TEST(StageLinks, KnowWhetherTheNextStageHasBatches) {
  transport::LoopbackNetwork network;
  End second(1, &network), first(0, &network);
  second.links().SetView(View(5));
  first.links().SetView(View(5));
  EXPECT_FALSE(first.links().awaits_next());
  for (uint64_t batch = 1; batch <= 2; ++batch) first.links().Send(Forward(0, 5, batch), {});
  EXPECT_TRUE(first.links().awaits_next());
  second.Await(2);
  second.links().Send(Backward(5, 2), {});
  first.Await(1);
  EXPECT_TRUE(first.links().awaits_next());
  second.links().Send(Backward(5, 1), {});
  first.Await(2);
  EXPECT_FALSE(first.links().awaits_next());
  EXPECT_FALSE(second.links().awaits_next()) << "behind it is nobody";

  first.links().Send(Forward(0, 5, 3), {});
  for (End* end : {&first, &second}) end->links().SetView(View(6));
  EXPECT_TRUE(first.links().awaits_next()) << "though it has been dropped";
  first.links().SetView(View(7));
  EXPECT_TRUE(first.links().awaits_next()) << "nothing has come back since";
  second.links().SetView(View(7));
  first.links().Send(Forward(0, 7, 4), {});
  second.Await(4);
  second.links().Send(Backward(7, 4), {});
  first.Await(3);
  EXPECT_FALSE(first.links().awaits_next());
  first.links().Send(Forward(0, 6, 5), {});
  EXPECT_FALSE(first.links().awaits_next()) << "of another generation, it does not leave";
}

TEST(StageLinks, DropWhatNoNeighbourSends) {
  transport::LoopbackNetwork network;
  End second(1, &network), first(0, &network);
  second.links().SetView(View(5));
  first.links().SetView(View(5));
  const auto stranger = network.MakeClient();
  const auto connection = stranger->Open(kAddress).value();
  v1::Header other_trainer = Forward(0, 5, 10);
  other_trainer.mutable_stage_forward()->set_trainer(7);
  v1::Header hello;
  hello.mutable_hello();
  for (const v1::Header& header : {other_trainer, Forward(1, 5, 11), Backward(5, 12), hello}) {
    ASSERT_TRUE(stranger->Send(connection, session::MakeMessage(header)).ok());
  }
  ASSERT_TRUE(stranger->Send(connection, {{transport::Part(Bytes{0xff, 0xff, 0xff})}}).ok());
  first.links().Send(Forward(0, 5, 13), {});
  EXPECT_EQ(second.Await(1), (std::vector<uint64_t>{13}));
}

TEST(StageLinks, TellThePortThatWasTaken) {
  transport::LoopbackNetwork network;
  StageLinks links({.trainer = 0,
                    .stage = 1,
                    .stage_count = 2,
                    .listen_address = "inproc://h:7000",
                    .advertised_address = "tcp://elsewhere:0"},
                   network.MakeServer(), nullptr);
  ASSERT_TRUE(links.Listen().ok());
  EXPECT_EQ(links.address(), "tcp://elsewhere:7000");
}

}  // namespace
}  // namespace weir::worker
