// A whole server 0 of one, in a process without threads, a clock or a disk of the machine's, for
// targets of what it takes from others: messages, and what an earlier life has left.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/layout/model_layout.h"
#include "common/proto/config.pb.h"
#include "common/transport/loopback.h"
#include "server/server.h"
#include "tests/fuzz/messages.h"
#include "tests/support/manual_executor.h"
#include "tests/support/memory_files.h"

namespace weir::fuzz {

// Of its config, and whether it keeps a log. As bits of an input's first byte.
enum ServerChoice : uint8_t { kRounds = 1, kStages = 2, kLog = 4, kOneTrainer = 8 };
inline constexpr uint8_t kServerChoices = 16;
v1::Config ServerConfig(uint8_t choice);

class PlayedServer {
 public:
  static constexpr const char* kAddress = "inproc://played";
  static constexpr const char* kFolder = "/data";

  // files: null where it keeps no log. A log that is refused: then there is no server.
  PlayedServer(uint8_t choice, test::MemoryFiles* files);

  // What it may do by itself now. It has ended: does nothing.
  void Step();
  void Steps(int count) {
    for (int i = 0; i < count; ++i) Step();
  }
  // Its answers are dropped.
  void Take(const SentMessage& sent);

  bool has_ended() const { return server_ == nullptr || outcome_.has_value(); }
  const v1::Config& config() const { return config_; }
  const ModelLayout& layout() const { return layout_; }
  const TappedServer& tap() const { return *tap_; }
  transport::LoopbackNetwork* network() { return &network_; }
  // Of a worker beside it, whose names do not depend on the server's.
  Environment environment_of_worker() {
    return {.clock = clock_, .nonce = [this] { return ++names_of_worker_; }, .executor = executor_};
  }

 private:
  const v1::Config config_;
  const ModelLayout layout_{config_, 1};
  transport::LoopbackNetwork network_;
  ManualClock clock_;
  test::ManualExecutor executor_;
  test::MemoryFiles no_files_;
  uint64_t names_ = 1000, names_of_worker_ = 100;
  TappedServer* tap_ = nullptr;  // the server's
  std::unique_ptr<server::Server> server_;
  std::optional<Status> outcome_;
  struct Sender {
    std::unique_ptr<transport::ClientTransport> client;
    transport::ConnectionId connection = 0;
  };
  std::vector<Sender> senders_{kSenders};
};

// Inputs that are a choice and what a server of that choice is told in a whole run of one trainer.
std::vector<std::string> ServerConversations();
// What such a server says to its trainer.
std::vector<SentMessage> AnswersOfRun();
// What that run leaves on the server's disk: its log, and a snapshot.
Bytes LogOfRun();
Bytes SnapshotOfRun();

}  // namespace weir::fuzz
