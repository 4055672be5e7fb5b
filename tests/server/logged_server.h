// A server with a log on a disk of the test's, whose lives end and begin again.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "common/session/header_message.h"
#include "common/session/run_identity.h"
#include "common/transport/loopback.h"
#include "server/server.h"
#include "tests/server/server_test_support.h"
#include "tests/support/manual_executor.h"
#include "tests/support/memory_files.h"

namespace weir::server {

inline constexpr char kLoggedAddress[] = "inproc://logged", kData[] = "/data";
inline constexpr uint64_t kLoggedRun = 17;

inline v1::Header PushHeader(uint64_t sequence, uint32_t connection = 1) {
  v1::Header header;
  header.mutable_push()->set_sequence(sequence);
  header.mutable_push()->set_connection(connection);
  return header;
}

class LoggedServer : public testing::Test {
 protected:
  explicit LoggedServer(const SnapshotRule& snapshots = {}, uint32_t shard = 1,
                        double max_push_norm = 0, uint32_t servers = 0)  // 0: one more than shard
      : snapshots_(snapshots), shard_(shard), servers_(servers == 0 ? shard + 1 : servers) {
    config_.mutable_cluster()->set_durability(v1::PROCESS);
    config_.mutable_update()->mutable_dense()->set_max_push_norm(max_push_norm);
    identity_ = session::MakeRunIdentity(config_, servers_, 0);
    Start();
  }
  void Start(int64_t prompt_ms = 120'000) {  // 0: it may still load then
    auto transport = network_.MakeServer();
    CHECK(transport->Bind(kLoggedAddress).ok());
    ServerOptions options{.environment = {clock_, [this] { return ++names_; }, files_, executor_},
                          .prompt_ms = prompt_ms,
                          .snapshots = snapshots_};
    options.data_folder = DataFolder::Open(files_, kData, identity_, shard_).value();
    server_ = std::make_unique<Server>(config_, servers_, shard_, std::move(transport),
                                       std::move(options));
    while (prompt_ms > 0 && !server_->is_loaded() && !outcome_) Step();
    client_ = network_.MakeClient();
    connection_ = client_->Open(kLoggedAddress).value();
  }
  void Step() {
    executor_.RunOne();
    outcome_ = server_->Step(0);
    clock_.Advance(10);
  }
  void Kill() {  // as SIGKILL does
    files_.EndProcess();
    server_.reset();
    client_.reset();
  }
  std::vector<v1::Header> Exchange(const v1::Header& header, std::vector<Bytes> body = {}) {
    if (header.has_hello()) Grant(header.hello(), &server_->news().grants);
    CHECK(client_->Send(connection_, MakeParts(header, std::move(body))).ok());
    std::vector<v1::Header> replies;
    changes_.clear();
    while (replies.size() < (header.has_hello() ? 2u : 1u) && !outcome_) {
      Step();
      const auto incoming = client_->Receive(0);
      if (!incoming) continue;
      replies.push_back(session::ParseHeader(incoming->message).value());
      if (replies.back().has_refusal()) break;
      for (size_t i = 1; i < incoming->message.parts.size(); ++i) {
        AddChanges(layout_, incoming->message.parts[i].span(), &changes_);
      }
    }
    return replies;
  }
  v1::Header Hello(uint32_t connection, uint64_t epoch = 0, uint64_t version = 0) const {
    v1::Header header;
    *header.mutable_hello()->mutable_identity() = identity_;
    header.mutable_hello()->set_incarnation(1);
    header.mutable_hello()->set_connection(connection);
    header.mutable_hello()->set_run(kLoggedRun);
    header.mutable_hello()->set_server_epoch(epoch);
    header.mutable_hello()->set_version(version);
    return header;
  }
  Bytes Gradient(float value) const {
    const auto own = std::ranges::find(layout_.pieces(), shard_, &PieceSpec::server);
    return GradientFrame(*own, 0, {1, 3}, {value, 2 * value});
  }
  void PushSome(uint64_t count) {
    server_->Serve(kLoggedRun);
    epoch_ = Exchange(Hello(1)).at(0).hello_reply().server_epoch();
    for (uint64_t i = 1; i <= count; ++i) {
      const auto answers = Exchange(PushHeader(i), {Gradient(static_cast<float>(i))});
      EXPECT_EQ(answers.at(0).answer().durable_sequence(), i);
    }
  }

  const SnapshotRule snapshots_;
  const uint32_t shard_, servers_;
  v1::Config config_ = TinyConfig();
  const ModelLayout layout_{config_, servers_};
  v1::RunIdentity identity_;
  transport::LoopbackNetwork network_;
  test::MemoryFiles files_;
  test::ManualExecutor executor_;
  ManualClock clock_;
  uint64_t names_ = 100, epoch_ = 0;
  std::unique_ptr<Server> server_;
  std::unique_ptr<transport::ClientTransport> client_;
  transport::ConnectionId connection_ = 0;
  std::optional<Status> outcome_;
  DenseChanges changes_;
};

}  // namespace weir::server
