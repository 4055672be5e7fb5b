// What a worker's link makes of messages of a server, or of who is taken for one. The input is
// messages (messages.h); after each the worker asks for what it can ask.
#include <google/protobuf/stubs/logging.h>

#include "common/session/header_message.h"
#include "tests/fuzz/every_header.h"
#include "tests/fuzz/played_server.h"
#include "tests/server/server_test_support.h"
#include "tests/worker/link/played_trainer.h"

namespace weir::fuzz {
namespace {

constexpr size_t kMostMessages = 100;

class PlayedLink {
 public:
  PlayedLink() : server_(network_.MakeServer()) {
    CHECK(server_->Bind(PlayedServer::kAddress).ok());
  }

  // False once the link has given up.
  bool Take(const SentMessage& sent) {
    clock_.Advance(1);
    if (!link_.Step(0)) return false;
    while (auto incoming = server_->Receive(0)) peer_ = std::move(incoming->peer);
    if (!peer_.empty() && !server_->Send(peer_, sent.message).ok()) return true;
    if (!link_.Step(0)) return false;
    if (link_.is_connected()) Ask();
    return true;
  }

 private:
  void Ask() {
    if (rows_.id == 0) {
      rows_.bodies = {{transport::Part(server::RowIdsFrame(0, {1, 2}))}};
      link_.SubmitRowPull(&rows_);
    } else if (link_.TryTakeRowReplies(rows_.id)) {
      rows_ = {};
    }
    if (proposal_ == 0) {
      proposal_ = link_.SubmitProposal({}, std::vector<session::Body>(1));
    } else if (link_.TryTakeAgreed(proposal_)) {
      proposal_ = 0;
    }
    if (!is_asking_) link_.SubmitWorkRequest({}, {});
    is_asking_ = !link_.TryTakeWork();
    if (!link_.TryAcquireCredit()) return;
    std::vector<session::Body> bodies(1);
    bodies[0].emplace_back(server::GradientFrame(layout_.pieces()[0], 0, {7}, {1.5f}));
    link_.SubmitPush({}, std::move(bodies), link_.MarkRead());
  }

  const v1::Config config_ = ServerConfig(0);
  const ModelLayout layout_{config_, 1};
  transport::LoopbackNetwork network_;
  ManualClock clock_;
  test::ManualExecutor executor_;
  uint64_t names_ = 100;
  const std::unique_ptr<transport::ServerTransport> server_;
  transport::PeerId peer_;
  worker::ServerLink link_{config_,
                           layout_,
                           {.environment = {.clock = clock_,
                                            .nonce = [this] { return ++names_; },
                                            .executor = executor_},
                            .server_addresses = {PlayedServer::kAddress}},
                           network_.MakeClient()};
  worker::RowRequest rows_;
  uint64_t proposal_ = 0;
  bool is_asking_ = false;
};

void ReadInput(const uint8_t* data, size_t size) {
  FLAGS_minloglevel = google::GLOG_FATAL;
  PlayedLink link;
  size_t left = kMostMessages;
  for (const SentMessage& sent : ReadMessages(data, size)) {
    if (left-- == 0 || !link.Take(sent)) return;
  }
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  std::vector<SentMessage> run = AnswersOfRun();
  std::vector<std::string> seeds = {InputOf(run)};
  run.resize(std::min<size_t>(run.size(), 4));
  for (const v1::Header& header : EveryHeader()) {
    run.push_back({0, session::MakeMessage(header)});
    seeds.push_back(InputOf(run));
    run.pop_back();
  }
  return seeds;
}

}  // namespace weir::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const google::protobuf::LogSilencer silencer;  // it says each time why something does not parse
  weir::fuzz::ReadInput(data, size);
  return 0;
}
