#include "common/keys/run_keys.h"

#include <utility>

#include "common/base/check.h"
#include "common/base/strings.h"
#include "common/keys/key_folder.h"

namespace weir::keys {

RunKeys RunKeys::Read(const std::string& folder, const transport::PeerName& name,
                      std::vector<std::string>* problems) {
  if (folder.empty()) return {};
  auto own = ReadOwn(folder, name);
  if (!own.ok()) problems->push_back(StrCat("--keys: ", own.status().message()));
  if (!own.ok()) return {};
  RunKeys keys;
  keys.folder_ = folder;
  keys.own_ = std::move(own->pair);
  keys.list_ = std::move(own->list);
  return keys;
}

std::optional<transport::Security> RunKeys::security() const {
  if (!list_) return std::nullopt;
  return transport::Security{own_, list_};
}

void RunKeys::ReadListAgain() const {
  if (!list_) return;
  auto list = ReadList(folder_);
  if (!list.ok()) {
    LOG(ERROR) << "the keys are as before: " << list.status().message();
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
