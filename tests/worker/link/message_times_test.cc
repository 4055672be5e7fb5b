// Bursts of probes to servers that are played by a thread.
#include "worker/link/message_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "common/session/header_message.h"
#include "common/transport/loopback.h"
#include "tests/worker/link/small_model.h"

namespace weir::worker {
namespace {

using testing::Each;
using testing::Gt;
using testing::Pair;

std::string PlayedAddress(size_t server) { return "inproc://" + std::to_string(server); }

// Lets a worker in, and replies to its probes.
class PlayedServer {
 public:
  PlayedServer(uint32_t index, transport::LoopbackNetwork* network)
      : index_(index), transport_(network->MakeServer()) {
    CHECK(transport_->Bind(PlayedAddress(index)).ok());
    thread_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        if (const auto incoming = transport_->Receive(10)) Reply(*incoming);
      }
    });
  }

  // Once nobody sends any more: probes by their bytes.
  std::map<size_t, int> TakeProbes() {
    thread_.request_stop();
    thread_.join();
    return probes_;
  }

 private:
  void Reply(const transport::IncomingMessage& incoming) {
    const v1::Header header = *session::ParseHeader(incoming.message);
    v1::Header reply, first_answer;
    if (header.has_join()) {
      reply.mutable_join_reply()->set_incarnation(1);
    } else if (header.has_hello()) {
      reply.mutable_hello_reply()->set_connection(header.hello().connection());
      reply.mutable_hello_reply()->set_server_epoch(9);
      reply.mutable_hello_reply()->set_shard(index_);
      first_answer.mutable_answer()->set_connection(header.hello().connection());
      first_answer.mutable_answer()->set_is_catch_up(true);
    } else if (header.has_probe()) {
      reply.mutable_probe_reply()->set_request_id(header.probe().request_id());
      size_t bytes = 0;
      for (const transport::Part& part : session::BodyOf(incoming.message)) bytes += part.size();
      ++probes_[bytes];
    } else {
      return;
    }
    CHECK(transport_->Send(incoming.peer, session::MakeMessage(reply)).ok());
    if (first_answer.has_answer()) {
      CHECK(transport_->Send(incoming.peer, session::MakeMessage(first_answer)).ok());
    }
  }

  const uint32_t index_;
  const std::unique_ptr<transport::ServerTransport> transport_;
  std::map<size_t, int> probes_;
  std::jthread thread_;
};

// From a 256th of that on, until one is so large or so slow: then they begin anew.
void ExpectEachLarger(const std::vector<schedule::Measurement>& bursts, int64_t bytes) {
  EXPECT_EQ(bursts.front().size, bytes / 256);
  for (size_t i = 0; i + 1 < bursts.size(); ++i) {
    const bool is_last = bursts[i].size == bytes || 4 * 6 * bursts[i].seconds > 1;
    EXPECT_EQ(bursts[i + 1].size, is_last ? bytes / 256 : 4 * bursts[i].size);
  }
}

TEST(MessageTimes, BurstsAreAsLargeAsAPushAndSmaller) {
  const v1::Config config = SmallModel();
  const ModelLayout layout(config, 2);
  transport::LoopbackNetwork network;
  PlayedServer first(0, &network), second(1, &network);
  auto link = std::make_unique<ServerLink>(
      config, layout, LinkOptions{.server_addresses = {PlayedAddress(0), PlayedAddress(1)}},
      network.MakeClient());
  ASSERT_TRUE(link->Connect().ok());
  const int64_t bytes[] = {16'000'000, 0};
  const auto measured = MeasureMessages(bytes, link.get());
  ASSERT_TRUE(measured.ok()) << measured.status();
  link.reset();
  const std::map<size_t, int> probes = first.TakeProbes();
  ExpectEachLarger(*measured, bytes[0]);
  EXPECT_THAT(probes, Each(Pair(Gt(0u), Gt(1))));
  EXPECT_TRUE(second.TakeProbes().empty()) << "a push has nothing for it";
  for (const schedule::Measurement& burst : *measured) {
    EXPECT_TRUE(probes.contains(static_cast<size_t>(burst.size))) << burst.size;
    EXPECT_GE(burst.seconds, 0);
  }
}

TEST(MessageTimes, ALinkThatFailsEndsTheWait) {
  const v1::Config config = SmallModel();
  const ModelLayout layout(config, 1);
  transport::LoopbackNetwork network;
  PlayedServer server(0, &network);
  ServerLink link(config, layout, LinkOptions{.server_addresses = {PlayedAddress(0)}},
                  network.MakeClient());
  ASSERT_TRUE(link.Connect().ok());
  server.TakeProbes();  // and replies no more
  std::jthread stopping([&] { link.Stop(Internal("enough"), false); });
  const int64_t bytes[] = {1000};
  EXPECT_FALSE(MeasureMessages(bytes, &link).ok());
}

}  // namespace
}  // namespace weir::worker
