// Files of keys: the list of a run's processes, and a secret. The input is the file, which is read
// as both.
#include <fstream>
#include <iterator>

#include "common/keys/key_folder.h"
#include "tests/fuzz/memory_folder.h"
#include "tests/fuzz/target.h"

namespace weir::fuzz {
namespace {

const transport::PeerName kName = "server 0";

std::string FileName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

void ReadInput(ByteSpan input) {
  static const MemoryFolder folder;
  folder.Write(FileName(keys::ListPath(folder.path())), input);
  folder.Write(FileName(keys::SecretPath(folder.path(), kName)), input);
  if (const auto list = keys::ReadList(folder.path()); list.ok()) {
    const transport::KeyList known(*list);
    for (const auto& [name, key] : *list) {
      CHECK(transport::IsKey(key));
      CHECK_EQ(known.NameOf(key), name);
    }
  }
  const auto pair = keys::ReadPair(folder.path(), kName);
  if (pair.ok()) CHECK(transport::IsKey(pair->public_key) && transport::IsKey(pair->secret_key));
  const auto own = keys::ReadOwn(folder.path(), kName);
  CHECK(!own.ok() || pair.ok());
}

std::string TextOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  const MemoryFolder folder;
  const transport::Key key(40, 'a'), other(40, '0'), third(40, '!');
  const transport::KeyList::Keys all = {
      {kName, key}, {"trainer 3", other}, {"trainer 3 stage 1", third}};
  CHECK(keys::WriteList(folder.path(), all).ok());
  CHECK(keys::WritePair(folder.path(), kName, {.public_key = key, .secret_key = key}).ok());
  return {TextOf(keys::ListPath(folder.path())), TextOf(keys::SecretPath(folder.path(), kName)),
          "server 0: x\r\nnobody: y\n\nserver 0\n"};
}

}  // namespace weir::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  weir::fuzz::ReadInput({data, size});
  return 0;
}
