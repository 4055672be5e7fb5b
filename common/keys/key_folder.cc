#include "common/keys/key_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <utility>
#include <vector>

#include "common/base/file_writer.h"
#include "common/base/strings.h"

namespace weir::keys {
namespace {

using transport::IsKey;
using transport::Key;
using transport::KeyList;
using transport::KeyPair;
using transport::PeerName;

// One of a file: what stands before ": ", and behind it.
struct Entry {
  size_t line = 0;
  std::string name, value;
};

Status CannotRead(const std::string& path) {
  return InvalidConfig(StrCat("cannot read ", path, ": ", std::strerror(errno)));
}

// Lines that begin with # are for people.
Result<std::vector<Entry>> ReadEntries(const std::string& path) {
  std::ifstream file(path);
  if (!file) return CannotRead(path);
  std::vector<Entry> entries;
  size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty() || line.starts_with('#')) continue;
    const size_t end = line.find(": ");
    if (end == std::string::npos) return InvalidConfig(StrCat(path, ":", number, ": no NAME: KEY"));
    entries.push_back({number, line.substr(0, end), line.substr(end + 2)});
  }
  if (file.bad()) return CannotRead(path);
  return entries;
}

// As they are written: no sign, no 0 before it.
bool IsNumber(const std::string& text) {
  constexpr size_t kMostDigits = 9;
  const bool has_digits = text.find_first_not_of("0123456789") == std::string::npos;
  return has_digits && !text.empty() && text.size() <= kMostDigits &&
         (text == "0" || text.front() != '0');
}

bool IsName(const std::string& name) {
  const std::vector<std::string> words = StrSplit(name, ' ');
  if (words.size() != 2 && words.size() != 4) return false;
  const bool is_trainer = words[0] == "trainer";
  if ((!is_trainer && words[0] != "server") || !IsNumber(words[1])) return false;
  return words.size() == 2 ||
         (is_trainer && words[2] == "stage" && IsNumber(words[3]) && words[3] != "0");
}

// Empty: nothing.
std::string FaultOf(const Entry& entry, const KeyList::Keys& before,
                    const std::map<Key, PeerName>& names) {
  if (!IsName(entry.name)) {
    return StrCat("'", entry.name, "' is nobody: server 0, trainer 3, trainer 3 stage 1 are");
  }
  if (!IsKey(entry.value)) return StrCat("of ", entry.name, " it has no key: 40 characters are");
  if (before.contains(entry.name)) return StrCat(entry.name, " is there twice");
  const auto known = names.find(entry.value);
  if (known != names.end()) {
    return StrCat(entry.name, " has the key of ", known->second, "; each has its own");
  }
  return {};
}

// Where others may read it, it is no secret.
Status CheckSecret(const std::string& path) {
  struct stat found = {};
  if (stat(path.c_str(), &found) != 0) return CannotRead(path);
  if ((found.st_mode & (S_IRWXG | S_IRWXO)) == 0) return OkStatus();
  return InvalidConfig(
      StrCat(path, " may be read by others: chmod 600 ", ShellWord(path),
             ", and make another key if they have. A file system on which that changes "
             "nothing keeps no secret: choose another for --keys"));
}

Status WriteSecret(const std::string& path, const std::string& text) {
  const std::string aside = path + ".partial";
  unlink(aside.c_str());  // a link, perhaps
  const int file = open(aside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return CannotWrite(aside);
  const bool is_written =
      fchmod(file, 0600) == 0 &&
      write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
      fsync(file) == 0;
  const Status status = is_written ? OkStatus() : CannotWrite(aside);
  close(file);
  if (!status.ok() || std::rename(aside.c_str(), path.c_str()) != 0) {
    Status failure = status.ok() ? CannotWrite(path) : status;
    unlink(aside.c_str());
    return failure;
  }
  return OkStatus();
}

}  // namespace

PeerName ServerName(size_t server) { return StrCat("server ", server); }

PeerName WorkerName(uint32_t trainer, uint32_t stage) {
  return stage == 0 ? StrCat("trainer ", trainer) : StrCat("trainer ", trainer, " stage ", stage);
}

std::string ListPath(const std::string& folder) { return folder + "/public.keys"; }

std::string SecretPath(const std::string& folder, const PeerName& name) {
  std::string file = name;
  for (char& character : file) {
    if (character == ' ') character = '-';
  }
  return StrCat(folder, "/", file, ".key");
}

Result<KeyList::Keys> ReadList(const std::string& folder) {
  const std::string path = ListPath(folder);
  WEIR_ASSIGN_OR_RETURN(const std::vector<Entry> entries, ReadEntries(path));
  KeyList::Keys keys;
  std::map<Key, PeerName> names;
  std::vector<std::string> faults;
  for (const Entry& entry : entries) {
    const std::string fault = FaultOf(entry, keys, names);
    if (!fault.empty()) faults.push_back(StrCat(path, ":", entry.line, ": ", fault));
    if (!fault.empty()) continue;
    keys.emplace(entry.name, entry.value);
    names.emplace(entry.value, entry.name);
  }
  if (!faults.empty()) return InvalidConfig(StrJoin(faults, "\n"));
  return keys;
}

Result<KeyPair> ReadPair(const std::string& folder, const PeerName& name) {
  const std::string path = SecretPath(folder, name);
  WEIR_RETURN_IF_ERROR(CheckSecret(path));
  WEIR_ASSIGN_OR_RETURN(const std::vector<Entry> entries, ReadEntries(path));
  if (entries.size() != 1 || entries[0].name != name) {
    return InvalidConfig(StrCat(path, " is not what weir-keygen wrote: one line, ", name, ": KEY"));
  }
  const auto public_key = transport::PublicKeyOf(entries[0].value);
  if (!public_key.ok()) return InvalidConfig(StrCat(path, ": ", public_key.status().message()));
  return KeyPair{*public_key, entries[0].value};
}

Result<OwnKeys> ReadOwn(const std::string& folder, const PeerName& name) {
  WEIR_ASSIGN_OR_RETURN(KeyPair pair, ReadPair(folder, name));
  WEIR_ASSIGN_OR_RETURN(KeyList::Keys list, ReadList(folder));
  const auto own = list.find(name);
  if (own == list.end() || own->second != pair.public_key) {
    return InvalidConfig(StrCat(ListPath(folder), " has ", own == list.end() ? "no" : "another",
                                " key of ", name, " than ", SecretPath(folder, name),
                                "; all processes need the same list"));
  }
  return OwnKeys{std::move(pair), std::make_shared<KeyList>(std::move(list))};
}

Status WriteList(const std::string& folder, const KeyList::Keys& keys) {
  std::string text =
      "# Public keys of the processes of a run, by weir-keygen. Not secret; all need the same.\n";
  for (const auto& [name, key] : keys) text += StrCat(name, ": ", key, "\n");
  return ReplaceFile(ListPath(folder), text);
}

Status WritePair(const std::string& folder, const PeerName& name, const KeyPair& pair) {
  return WriteSecret(SecretPath(folder, name),
                     StrCat("# Secret: for the process of ", name, " alone.\n", name, ": ",
                            pair.secret_key, "\n"));
}

}  // namespace weir::keys
