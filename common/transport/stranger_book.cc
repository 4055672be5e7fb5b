#include "common/transport/stranger_book.h"

#include <algorithm>
#include <iterator>

namespace weir::transport {

bool StrangerBook::Store::has_enough() const {
  return attempts >= static_cast<double>(bounds.most) / 2 && open <= bounds.most / 2;
}

bool StrangerBook::Store::has_too_many() const { return attempts < 1 || open >= bounds.most; }

void StrangerBook::Store::Fill(int64_t now_ms) {
  const int64_t passed_ms = now_ms - filled_ms;
  filled_ms = now_ms;
  attempts = std::min(static_cast<double>(bounds.most),
                      attempts + static_cast<double>(passed_ms * bounds.a_second) / 1000);
}

bool StrangerBook::OnCome(int connection, const std::string& host, int64_t now_ms) {
  OnGone(connection);
  all_.Fill(now_ms);
  const bool is_bearable = !all_.has_too_many();
  all_.attempts = std::max(all_.attempts - 1, 0.0);
  if (host.empty()) return true;
  Host& from = hosts_.try_emplace(host, Host{{kOfHost, now_ms}}).first->second;
  Store& store = from.store;
  store.Fill(now_ms);
  const bool is_bearable_host = !store.has_too_many();
  store.attempts = std::max(store.attempts - 1, 0.0);
  ++store.open;
  ++all_.open;
  connections_[connection] = {host};
  return is_bearable_host && (is_bearable || from.known_ms || from.known > 0);
}

void StrangerBook::OnKnown(int connection) {
  const auto found = connections_.find(connection);
  if (found == connections_.end() || found->second.is_known) return;
  found->second.is_known = true;
  Host& host = hosts_.at(found->second.host);
  for (Store* const store : {&all_, &host.store}) {
    store->attempts = std::min(static_cast<double>(store->bounds.most), store->attempts + 1);
    --store->open;
  }
  ++host.known;
}

void StrangerBook::OnGone(int connection) {
  const auto found = connections_.find(connection);
  if (found == connections_.end()) return;
  Host& host = hosts_.at(found->second.host);
  if (found->second.is_known) {
    --host.known;
  } else {
    --host.store.open;
    --all_.open;
  }
  connections_.erase(found);
}

void StrangerBook::Judge(const std::string& name, const Host& host) {
  if (host.store.has_enough()) {
    rule_.shut.erase(name);
  } else if (host.store.has_too_many() && rule_.shut.size() < ConnectionRule::kMostHosts) {
    rule_.shut.insert(name);
  }
  if (host.known_ms && rule_.known.size() < ConnectionRule::kMostHosts) rule_.known.insert(name);
}

// What is shut opens when half of all is there again, so that the kernel is not told all the time.
const ConnectionRule& StrangerBook::Rule(int64_t now_ms) {
  all_.Fill(now_ms);
  rule_.only_known = all_.has_too_many() || (rule_.only_known && !all_.has_enough());
  rule_.known.clear();
  for (auto entry = hosts_.begin(); entry != hosts_.end();) {
    auto& [name, host] = *entry;
    host.store.Fill(now_ms);
    if (host.known > 0) host.known_ms = now_ms;
    if (host.known_ms && now_ms - *host.known_ms > kRememberedMs) host.known_ms.reset();
    Judge(name, host);
    const bool is_full = host.store.attempts >= static_cast<double>(kOfHost.most);
    const bool is_as_new = is_full && host.store.open == 0 && !host.known_ms;
    entry = is_as_new ? hosts_.erase(entry) : std::next(entry);
  }
  if (!rule_.only_known) rule_.known.clear();  // or the rule would change for nothing
  return rule_;
}

}  // namespace weir::transport
