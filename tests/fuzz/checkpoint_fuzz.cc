// progress.weir of a checkpoint, behind its checksum, which would stop every damaged input: what is
// read of it, and what the coordinator of a run that goes on makes of that. The input is the file.
#include <google/protobuf/stubs/logging.h>

#include <fstream>
#include <iterator>

#include "common/saved_model/checkpoint_folder.h"
#include "common/saved_model/progress_file.h"
#include "common/wire/checksum.h"
#include "tests/fuzz/memory_folder.h"
#include "tests/fuzz/played_server.h"
#include "tests/server/coordinator/asking.h"

namespace weir::fuzz {
namespace {

using server::Coordinator;

std::unique_ptr<Coordinator> MakeCoordinator() {
  FLAGS_minloglevel = google::GLOG_FATAL;
  static const v1::Config config = ServerConfig(0);
  return std::make_unique<Coordinator>(config, session::MakeRunIdentity(config, 1), 1, 77);
}

// A trainer does what it is lent, as far as there is something; every second chunk is its file's
// last.
void Train(Coordinator* coordinator, uint64_t requests) {
  v1::Join join;
  *join.mutable_identity() = session::MakeRunIdentity(ServerConfig(0), 1);
  join.set_nonce(1);
  coordinator->OnJoin(join, 1000);
  v1::WorkRequest request;
  for (uint64_t id = 1; id <= requests; ++id) {
    request.set_request_id(id);
    const auto reply = server::AskAs(0, request, "a", 1000, coordinator);
    request.Clear();
    if (!reply || !reply->work_reply().has_chunk()) continue;
    v1::Completion& completion = *request.add_completions();
    completion.set_lease(reply->work_reply().chunk().lease());
    completion.set_row_count(10);
    if (id % 2 == 0) request.add_file_ends()->set_chunk_count(id);
  }
  coordinator->Tick(2000);
}

void ReadInput(ByteSpan input) {
  static const MemoryFolder folder;
  folder.Write(saved_model::kProgressFile, input);
  wire::Checksum checksum;
  checksum.Append(input);
  v1::CheckpointFacts facts;
  facts.set_progress_checksum(checksum.value());
  const auto parts = saved_model::ReadProgress(folder.path(), facts);
  const auto coordinator = MakeCoordinator();
  if (!parts.ok() || !coordinator->checkpoints().Resume(*parts).ok()) return;
  Train(coordinator.get(), 6);
  cluster::KeptParts kept;
  coordinator->SaveChanges(&kept);
  CHECK(MakeCoordinator()->Load(kept.parts(), 3000).ok()) << "what it has saved itself";
}

std::string FileAfter(uint64_t requests) {
  const auto coordinator = MakeCoordinator();
  Train(coordinator.get(), requests);
  cluster::KeptParts kept;
  coordinator->checkpoints().SaveRun(&kept);
  const MemoryFolder folder;
  CHECK(saved_model::WriteProgress(folder.path(), kept.parts()).ok());
  std::ifstream file(folder.path() + "/" + saved_model::kProgressFile, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

std::vector<std::string> FuzzSeeds() { return {FileAfter(0), FileAfter(1), FileAfter(4)}; }

}  // namespace weir::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const google::protobuf::LogSilencer silencer;  // it says each time why something does not parse
  weir::fuzz::ReadInput({data, size});
  return 0;
}
