// A server's log, behind the checksums of its records: what the next life of its server makes of
// it, and weir-inspect. The input is a byte that chooses the server's config, and a file.
#include <google/protobuf/stubs/logging.h>

#include <sstream>

#include "common/base/check.h"
#include "common/log/record.h"
#include "common/log/segments.h"
#include "tests/fuzz/log_file.h"
#include "tests/fuzz/played_server.h"
#include "tools/inspect/inspect_folder.h"

namespace weir::fuzz {
namespace {

void ReadInput(const uint8_t* data, size_t size) {
  if (size == 0) return;
  test::MemoryFiles files;
  Bytes bytes = ResealedRecords(data + 1, size - 1);
  const auto first = log::ParsePrefix(bytes);
  const std::string path =
      log::SegmentPath(PlayedServer::kFolder, first ? first->number : uint64_t{1});
  if (!files.MakeFolder(PlayedServer::kFolder).ok() || !files.Create(path).ok()) return;
  *files.Contents(path) = std::move(bytes);
  std::ostringstream told;
  const tools::FolderOptions all{.lists_records = true};
  const Status inspected = tools::InspectFolder(files, PlayedServer::kFolder, all, told);
  CHECK(inspected.ok() || !inspected.message().empty());
  PlayedServer server(static_cast<uint8_t>(data[0] | kLog) % kServerChoices, &files);
  server.Steps(120);  // a tick behind it
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  const Bytes log = LogOfRun();
  return {static_cast<char>(kLog) + std::string(log.begin(), log.end())};
}

}  // namespace weir::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const google::protobuf::LogSilencer silencer;  // it says each time why something does not parse
  weir::fuzz::ReadInput(data, size);
  return 0;
}
