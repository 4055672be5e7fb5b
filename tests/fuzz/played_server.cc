#include "tests/fuzz/played_server.h"

#include <utility>

#include "common/base/check.h"
#include "common/config/defaults.h"
#include "common/config/validate_config.h"
#include "common/session/run_identity.h"
#include "tests/server/server_test_support.h"

namespace weir::fuzz {
namespace {

constexpr uint64_t kSnapshotBytes = 600;  // of the log

std::shared_ptr<server::DataFolder> OpenFolder(const v1::Config& config, test::MemoryFiles* files) {
  const v1::RunIdentity identity = session::MakeRunIdentity(config, 1);
  const auto folder = server::DataFolder::Open(*files, PlayedServer::kFolder, identity, 0);
  return folder.ok() ? *folder : nullptr;
}

}  // namespace

v1::Config ServerConfig(uint8_t choice) {
  v1::Config config = server::TinyConfig();
  config.mutable_model()->set_bottom_widths(0, 8);
  config.mutable_data()->mutable_synthetic()->set_test_rows(0);
  config.mutable_cluster()->set_durability((choice & kLog) != 0 ? v1::PROCESS : v1::NONE);
  if ((choice & kRounds) != 0) {
    const int trainers = (choice & kOneTrainer) != 0 ? 1 : 2;
    config.mutable_consistency()->mutable_sync()->set_trainers(trainers);
  }
  const bool has_stages = (choice & kStages) != 0 && (choice & kRounds) == 0;
  if (has_stages) config.mutable_pipeline()->add_split()->set_after("bottom/0");
  config::FillDefaults(&config);
  const auto mistakes = config::ValidateConfig(config);
  CHECK(mistakes.empty()) << mistakes[0];
  return config;
}

PlayedServer::PlayedServer(uint8_t choice, test::MemoryFiles* files)
    : config_(ServerConfig(choice)) {
  FLAGS_minloglevel = google::GLOG_FATAL;  // what is refused is said each time
  auto transport = std::make_unique<TappedServer>(network_.MakeServer());
  tap_ = transport.get();
  CHECK(transport->Bind(kAddress).ok());
  test::MemoryFiles& disk = files == nullptr ? no_files_ : *files;
  server::ServerOptions options{
      .environment = {clock_, [this] { return ++names_; }, disk, executor_},
      .prompt_ms = 120'000,
      .snapshots = {.least_log_bytes = kSnapshotBytes, .least_share = 0}};
  if (files != nullptr) {
    options.data_folder = OpenFolder(config_, files);
    if (options.data_folder == nullptr) return;
  }
  server_ =
      std::make_unique<server::Server>(config_, 1, 0, std::move(transport), std::move(options));
}

void PlayedServer::Step() {
  if (has_ended()) return;
  clock_.Advance(1);
  executor_.RunOne();
  outcome_ = server_->Step(0);
}

void PlayedServer::Take(const SentMessage& sent) {
  Sender& sender = senders_[sent.sender % kSenders];
  if (sender.client == nullptr) {
    sender.client = network_.MakeClient();
    sender.connection = sender.client->Open(kAddress).value();
  }
  if (!sender.client->Send(sender.connection, sent.message).ok()) return;
  Step();
  while (sender.client->Receive(0)) continue;
}

}  // namespace weir::fuzz
