#include "tools/keygen/make_keys.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ostream>

#include "common/base/directory_lock.h"
#include "common/base/file_writer.h"
#include "common/base/strings.h"
#include "common/keys/key_folder.h"

namespace weir::tools {
namespace {

using transport::KeyList;
using transport::PeerName;

std::vector<PeerName> NamesOf(const KeysToMake& wanted) {
  std::vector<PeerName> names;
  for (uint32_t i = 0; i < wanted.servers; ++i) names.push_back(keys::ServerName(i));
  for (uint32_t i = 0; i < wanted.trainers; ++i) {
    for (uint32_t stage = 0; stage < wanted.stages; ++stage) {
      names.push_back(keys::WorkerName(i, stage));
    }
  }
  return names;
}

Status MakeFolder(const std::string& folder) {
  if (mkdir(folder.c_str(), 0755) == 0 || errno == EEXIST) return OkStatus();
  return CannotWrite(folder);
}

bool HasList(const std::string& folder) {
  return access(keys::ListPath(folder).c_str(), F_OK) == 0;
}

bool IsListed(const std::string& folder, const KeyList::Keys& known) {
  const auto listed = keys::ReadList(folder);
  return listed.ok() && *listed == known;
}

bool IsMissing(const std::string& folder, const PeerName& name) {
  return access(keys::SecretPath(folder, name).c_str(), F_OK) != 0;
}

// Of those that are to be replaced or removed.
Status CheckKnown(const std::vector<std::string>& names, const KeyList::Keys& known) {
  std::vector<std::string> missing;
  for (const std::string& name : names) {
    if (!known.contains(name)) missing.push_back(StrCat("there is no key of '", name, "'"));
  }
  return missing.empty() ? OkStatus() : InvalidConfig(StrJoin(missing, "\n"));
}

Status Make(const std::string& folder, const PeerName& name, KeyList::Keys* known) {
  WEIR_ASSIGN_OR_RETURN(const transport::KeyPair pair, transport::MakeKeyPair());
  WEIR_RETURN_IF_ERROR(keys::WritePair(folder, name, pair));
  (*known)[name] = pair.public_key;
  return OkStatus();
}

// Without a list, those whose secret is there: what had them is gone, or was never written.
Result<KeyList::Keys> FindKnown(const std::string& folder, const std::vector<PeerName>& names) {
  KeyList::Keys known;
  if (HasList(folder)) {
    WEIR_ASSIGN_OR_RETURN(known, keys::ReadList(folder));
  }
  if (!known.empty()) return known;
  for (const PeerName& name : names) {
    if (IsMissing(folder, name)) continue;
    WEIR_ASSIGN_OR_RETURN(const transport::KeyPair pair, keys::ReadPair(folder, name));
    known[name] = pair.public_key;
  }
  return known;
}

}  // namespace

// The list comes last: a secret that it does not have is no harm.
Status MakeKeys(const std::string& folder, const KeysToMake& wanted, std::ostream& out) {
  WEIR_RETURN_IF_ERROR(MakeFolder(folder));
  // Of two that change a list at once, one would have secrets that are not on it.
  WEIR_ASSIGN_OR_RETURN(const DirectoryLock lock, DirectoryLock::Take(folder));
  WEIR_ASSIGN_OR_RETURN(KeyList::Keys known, FindKnown(folder, NamesOf(wanted)));
  WEIR_RETURN_IF_ERROR(Joined(CheckKnown(wanted.replace, known), CheckKnown(wanted.remove, known)));
  for (const PeerName& name : wanted.remove) known.erase(name);
  std::vector<PeerName> made = wanted.replace;
  for (const PeerName& name : NamesOf(wanted)) {
    const bool is_lost = wanted.mends && IsMissing(folder, name);
    if (is_lost || !known.contains(name)) made.push_back(name);
  }
  for (const PeerName& name : made) WEIR_RETURN_IF_ERROR(Make(folder, name, &known));
  if (!IsListed(folder, known)) WEIR_RETURN_IF_ERROR(keys::WriteList(folder, known));
  for (const PeerName& name : wanted.remove) {
    if (!known.contains(name)) unlink(keys::SecretPath(folder, name).c_str());
  }
  out << "made " << made.size() << " keys, removed " << wanted.remove.size() << "; "
      << keys::ListPath(folder) << " has " << known.size() << "\n";
  return OkStatus();
}

}  // namespace weir::tools
