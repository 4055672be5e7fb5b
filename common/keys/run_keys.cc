#include "common/keys/run_keys.h"

#include <utility>

#include "common/base/check.h"
#include "common/base/strings.h"
#include "common/keys/key_folder.h"
#include "common/transport/tcp_address.h"

namespace weir::keys {

namespace {

// The first one that other machines reach; none: empty. What is no address is told elsewhere.
std::string FindExposed(const std::vector<std::string>& sockets) {
  for (const std::string& socket : sockets) {
    const auto address = transport::ParseTcpAddress(socket);
    if (address.ok() && !transport::IsLoopback(*address)) return socket;
  }
  return {};
}

void AddMissing(const transport::KeyList& list, const KeyFlags& flags,
                std::vector<std::string>* problems) {
  for (size_t i = 0; i < flags.server_count; ++i) {
    if (list.KeyOf(ServerName(i))) continue;
    problems->push_back(StrCat("--keys: ", ListPath(flags.folder), " has no key of ", ServerName(i),
                               "; all processes need the same list"));
  }
}

}  // namespace

RunKeys RunKeys::Read(const KeyFlags& flags, const transport::PeerName& name,
                      std::vector<std::string>* problems) {
  RunKeys keys;
  if (flags.folder.empty()) {
    keys.insecure_ = flags.insecure;
    const std::string exposed = flags.insecure ? "" : FindExposed(flags.sockets);
    if (exposed.empty()) return keys;
    problems->push_back(StrCat("--keys: other machines reach ", exposed,
                               ", so each process needs a key: make them with weir-keygen, or "
                               "give --insecure to let everybody in"));
    return keys;
  }
  if (flags.insecure) {
    problems->emplace_back("--insecure: of a run without --keys; leave one of them out");
  }
  auto own = ReadOwn(flags.folder, name);
  if (!own.ok()) problems->push_back(StrCat("--keys: ", own.status().message()));
  if (!own.ok()) return {};
  AddMissing(*own->list, flags, problems);
  keys.folder_ = flags.folder;
  keys.name_ = name;
  keys.own_ = std::move(own->pair);
  keys.list_ = std::move(own->list);
  return keys;
}

std::optional<transport::Security> RunKeys::security() const {
  if (!list_) return std::nullopt;
  return transport::Security{own_, list_};
}

void RunKeys::WarnIfInsecure() const {
  if (!insecure_) return;
  LOG(WARNING) << "--insecure: whoever reaches a port of this run can take part in it, read it and "
                  "change it; weir-keygen makes keys";
}

void RunKeys::ReadListAgain() const {
  if (!list_) return;
  auto list = ReadList(folder_);
  if (!list.ok()) {
    LOG(ERROR) << "the keys are as before: " << list.status().message();
    return;
  }
  const auto own = list->find(name_);
  if (own == list->end() || own->second != own_.public_key) {
    LOG(ERROR) << "the keys are as before: " << ListPath(folder_) << " has not this process's own ("
               << name_ << ")";
    return;
  }
  LOG(INFO) << ListPath(folder_) << " is read again and has " << list->size() << " keys";
  list_->Replace(*std::move(list));
}

std::function<void()> RunKeys::reader() const {
  if (!list_) return {};
  return [keys = *this] { keys.ReadListAgain(); };
}

}  // namespace weir::keys
