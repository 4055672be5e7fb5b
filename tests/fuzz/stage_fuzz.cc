// What a stage makes of messages of the stages before and behind it, or of who is taken for one:
// its link, its queue and its passes. The input begins with a byte that chooses the stage, and the
// rest is messages (messages.h), whose sender is the stage before (even) or behind (odd).
#include <google/protobuf/stubs/logging.h>

#include "tests/fuzz/played_stage.h"

namespace weir::fuzz {
namespace {

constexpr size_t kMostMessages = 50;

// Speaks to a stage from both sides.
class Neighbours {
 public:
  Neighbours(uint32_t stage, transport::LoopbackNetwork* network) {
    if (stage > 0) {
      before_ = network->MakeClient();
      connection_ = before_->Open(LinkAddress(stage)).value();
    }
    if (stage + 1 == kStages) return;
    next_ = network->MakeServer();
    CHECK(next_->Bind(LinkAddress(stage + 1)).ok());
  }

  void Say(const SentMessage& sent) {
    Hear();
    if (sent.sender % 2 == 0) {
      if (before_ != nullptr) (void)before_->Send(connection_, sent.message);
    } else if (!peer_.empty()) {
      (void)next_->Send(peer_, sent.message);
    }
  }

 private:
  void Hear() {
    while (before_ != nullptr && before_->Receive(0)) continue;
    while (auto incoming = next_ == nullptr ? std::nullopt : next_->Receive(0)) {
      peer_ = std::move(incoming->peer);
    }
  }

  std::unique_ptr<transport::ClientTransport> before_;
  transport::ConnectionId connection_ = 0;
  std::unique_ptr<transport::ServerTransport> next_;
  transport::PeerId peer_;
};

void ReadInput(const uint8_t* data, size_t size) {
  if (size == 0) return;
  FLAGS_minloglevel = google::GLOG_FATAL;
  const uint32_t number = data[0] % kStages;
  transport::LoopbackNetwork network;
  PlayedStage stage(number, &network);
  Neighbours neighbours(number, &network);
  stage.Begin();
  if (number == 0) stage.AddChunks();
  stage.Step();
  size_t left = kMostMessages;
  for (const SentMessage& sent : ReadMessages(data + 1, size - 1)) {
    if (left-- == 0 || stage.has_failed()) return;
    neighbours.Say(sent);
    stage.Step();
  }
}

}  // namespace

std::vector<std::string> FuzzSeeds() { return StageConversations(); }

}  // namespace weir::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const google::protobuf::LogSilencer silencer;  // it says each time why something does not parse
  weir::fuzz::ReadInput(data, size);
  return 0;
}
