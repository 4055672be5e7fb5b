// Whole runs of a played server, for seeds.
#include <algorithm>

#include "common/base/check.h"
#include "common/log/segments.h"
#include "common/session/header_message.h"
#include "common/session/run_identity.h"
#include "tests/fuzz/every_header.h"
#include "tests/fuzz/played_server.h"
#include "tests/worker/link/played_trainer.h"

namespace weir::fuzz {
namespace {

constexpr uint64_t kChunks = 3;
constexpr int kMostTurns = 5000;

// Of one trainer that trains all there is; or, then, as much as it may, and stands still.
void Run(PlayedServer* server, int most_turns = kMostTurns) {
  worker::PlayedTrainer trainer(server->config(), server->layout(),
                                {.environment = server->environment_of_worker(),
                                 .server_addresses = {PlayedServer::kAddress}},
                                server->network(), kChunks);
  for (int turn = 0; turn < most_turns && !trainer.report(); ++turn) {
    server->Step();
    trainer.Look();
  }
  CHECK(trainer.report().has_value() || most_turns < kMostTurns);
  if (!trainer.report()) server->Steps(1000);  // a snapshot is written meanwhile
}

// What the trainer of a run of another config would have said.
v1::Header Retold(v1::Header header, uint8_t choice) {
  const bool has_stages = ServerConfig(choice).pipeline().split_size() > 0;
  const v1::RunIdentity identity = session::MakeRunIdentity(ServerConfig(choice), 1);
  if (header.has_join()) {
    *header.mutable_join()->mutable_identity() = identity;
    header.mutable_join()->set_stage_count(has_stages ? 2 : 1);
  } else if (header.has_hello()) {
    *header.mutable_hello()->mutable_identity() = identity;
    header.mutable_hello()->set_stage_count(has_stages ? 2 : 1);
  } else if (header.has_push() && (choice & kRounds) != 0) {
    header.mutable_push()->set_round(header.push().sequence());
    header.mutable_push()->add_members(0);
  }
  return header;
}

std::vector<SentMessage> Retold(const std::vector<SentMessage>& run, uint8_t choice) {
  std::vector<SentMessage> retold;
  for (const SentMessage& sent : run) {
    const v1::Header header = session::ParseHeader(sent.message).value();
    const session::Body body = session::BodyOf(sent.message);
    retold.push_back({sent.sender, session::MakeMessage(Retold(header, choice), body)});
  }
  return retold;
}

}  // namespace

std::vector<std::string> ServerConversations() {
  std::vector<std::string> inputs;
  for (const uint8_t log : {uint8_t{0}, uint8_t{kLog}}) {
    test::MemoryFiles files;
    PlayedServer server(log, log == 0 ? nullptr : &files);
    Run(&server);
    const auto& run = server.tap().received();
    for (uint8_t choice = log; choice < kServerChoices; ++choice) {
      if ((choice & kLog) != log) continue;
      inputs.push_back(static_cast<char>(choice) + InputOf(Retold(run, choice)));
    }
    std::vector<SentMessage> begun(run.begin(),
                                   run.begin() + std::min<ptrdiff_t>(6, std::ssize(run)));
    for (const v1::Header& header : EveryHeader())
      begun.push_back({0, session::MakeMessage(header)});
    inputs.push_back(static_cast<char>(log) + InputOf(begun));
  }
  return inputs;
}

std::vector<SentMessage> AnswersOfRun() {
  PlayedServer server(0, nullptr);
  Run(&server);
  return server.tap().sent();
}

Bytes LogOfRun() {
  test::MemoryFiles files;
  PlayedServer server(kLog, &files);
  Run(&server);
  Bytes all;
  const auto segments = log::FindSegments(files, PlayedServer::kFolder).value();
  for (const log::Segment& segment : segments) {
    const Bytes& part = *files.Contents(segment.path);
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

Bytes SnapshotOfRun() {
  test::MemoryFiles files;
  PlayedServer server(kLog, &files);
  Run(&server, 20);
  const auto snapshots = log::FindSnapshots(files, PlayedServer::kFolder).value();
  CHECK(!snapshots.empty());
  return *files.Contents(snapshots.back().path);
}

}  // namespace weir::fuzz
