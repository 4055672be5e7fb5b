// A snapshot of a server, behind the checksums of its records: what the next life of its server
// makes of it, and weir-inspect. The input is the file.
#include <google/protobuf/stubs/logging.h>

#include <sstream>

#include "common/base/check.h"
#include "common/log/segments.h"
#include "common/log/writer.h"
#include "common/session/run_identity.h"
#include "tests/fuzz/log_file.h"
#include "tests/fuzz/played_server.h"
#include "tools/inspect/inspect_folder.h"

namespace weir::fuzz {
namespace {

constexpr uint64_t kLastNumber = 50;  // that it stands for

void ReadInput(const uint8_t* data, size_t size) {
  static const v1::Config config = ServerConfig(kLog);
  test::MemoryFiles files;
  CHECK(files.MakeFolder(PlayedServer::kFolder).ok());
  const std::string path = log::SnapshotPath(PlayedServer::kFolder, kLastNumber);
  CHECK(files.Create(path).ok());
  *files.Contents(path) = ResealedRecords(data, size);
  v1::LogStart start;
  *start.mutable_identity() = session::MakeRunIdentity(config, 1);
  log::LogWriter({.files = files, .folder = PlayedServer::kFolder}, kLastNumber + 1, start).Step();
  std::ostringstream told;
  const Status inspected = tools::InspectFolder(files, PlayedServer::kFolder, {}, told);
  CHECK(inspected.ok() || !inspected.message().empty());
  PlayedServer server(kLog, &files);
  server.Steps(10);
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  const Bytes snapshot = SnapshotOfRun();
  return {std::string(snapshot.begin(), snapshot.end())};
}

}  // namespace weir::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const google::protobuf::LogSilencer silencer;  // it says each time why something does not parse
  weir::fuzz::ReadInput(data, size);
  return 0;
}
