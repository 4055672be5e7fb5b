// The keys of a run's processes, in a folder: public.keys, a list that all of them have, and for
// each a file with its secret, which nobody else may read.
//
// Place in the life of a batch: before all of it.
// Thread rule: any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "common/base/status.h"
#include "common/transport/security.h"

namespace weir::keys {

// "server 1", "trainer 3", "trainer 3 stage 1".
transport::PeerName ServerName(size_t server);
transport::PeerName WorkerName(uint32_t trainer, uint32_t stage);

std::string ListPath(const std::string& folder);
std::string SecretPath(const std::string& folder, const transport::PeerName& name);

// InvalidConfig with all that is wrong with it, by line.
Result<transport::KeyList::Keys> ReadList(const std::string& folder);
// InvalidConfig also where others may read it.
Result<transport::KeyPair> ReadPair(const std::string& folder, const transport::PeerName& name);

// What that process needs: its own pair, and the list, which has it.
struct OwnKeys {
  transport::KeyPair pair;
  std::shared_ptr<transport::KeyList> list;
};
Result<OwnKeys> ReadOwn(const std::string& folder, const transport::PeerName& name);

// Replace what is there; the folder is there. Only its owner may read a secret.
Status WriteList(const std::string& folder, const transport::KeyList::Keys& keys);
Status WritePair(const std::string& folder, const transport::PeerName& name,
                 const transport::KeyPair& pair);

}  // namespace weir::keys
