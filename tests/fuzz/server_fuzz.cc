// What a server makes of messages: of workers, of other servers, of anybody. The input begins with
// a byte that chooses the run's config, and the rest is messages (messages.h).
#include <google/protobuf/stubs/logging.h>

#include "tests/fuzz/played_server.h"

namespace weir::fuzz {
namespace {

constexpr size_t kMostMessages = 100;

void ReadInput(const uint8_t* data, size_t size) {
  if (size == 0) return;
  const uint8_t choice = data[0] % kServerChoices;
  test::MemoryFiles files;
  PlayedServer server(choice, (choice & kLog) != 0 ? &files : nullptr);
  server.Steps(5);
  std::vector<SentMessage> messages = ReadMessages(data + 1, size - 1);
  if (messages.size() > kMostMessages) messages.resize(kMostMessages);
  for (const SentMessage& sent : messages) server.Take(sent);
  server.Steps(20);
}

}  // namespace

std::vector<std::string> FuzzSeeds() { return ServerConversations(); }

}  // namespace weir::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const google::protobuf::LogSilencer silencer;  // it says each time why something does not parse
  weir::fuzz::ReadInput(data, size);
  return 0;
}
