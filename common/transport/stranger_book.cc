#include "common/transport/stranger_book.h"

#include <algorithm>
#include <iterator>

namespace weir::transport {

void StrangerBook::Fill(int64_t now_ms, Host* host) {
  const auto passed_ms = static_cast<double>(now_ms - host->filled_ms);
  host->attempts =
      std::min<double>(kMostAttempts, host->attempts + passed_ms * kAttemptsASecond / 1000);
  host->filled_ms = now_ms;
}

bool StrangerBook::OnCome(int connection, const std::string& host, int64_t now_ms) {
  OnGone(connection);
  Host& of = hosts_.try_emplace(host, Host{.filled_ms = now_ms}).first->second;
  Fill(now_ms, &of);
  of.attempts = std::max(of.attempts - 1, -1.0);
  if (host.empty()) return true;
  ++of.open;
  ++open_count_;
  connections_[connection] = {host};
  return of.attempts >= 0 && of.open <= kMostAttempts && open_count_ <= kMostOpen;
}

void StrangerBook::OnKnown(int connection) {
  const auto found = connections_.find(connection);
  if (found == connections_.end() || found->second.is_known) return;
  found->second.is_known = true;
  Host& host = hosts_.at(found->second.host);
  host.attempts = std::min<double>(kMostAttempts, host.attempts + 1);
  --host.open;
  --open_count_;
  ++host.known;
}

void StrangerBook::OnGone(int connection) {
  const auto found = connections_.find(connection);
  if (found == connections_.end()) return;
  Host& host = hosts_.at(found->second.host);
  if (found->second.is_known) {
    --host.known;
  } else {
    --host.open;
    --open_count_;
  }
  connections_.erase(found);
}

// What is shut opens when half of all is there again, so that the kernel is not told all the time.
void StrangerBook::Judge(const std::string& name, const Host& host) {
  constexpr int64_t kEnough = kMostAttempts / 2;
  const bool has_enough = host.attempts >= kEnough && host.open <= kEnough;
  const bool has_too_many = host.attempts < 1 || host.open >= kMostAttempts;
  if (name.empty()) {
    rule_.only_known = has_too_many || (rule_.only_known && !has_enough);
  } else if (has_enough) {
    rule_.shut.erase(name);
  } else if (has_too_many && rule_.shut.size() < ConnectionRule::kMostHosts) {
    rule_.shut.insert(name);
  }
  if (host.known > 0 && rule_.known.size() < ConnectionRule::kMostHosts) rule_.known.insert(name);
}

const ConnectionRule& StrangerBook::Rule(int64_t now_ms) {
  rule_.known.clear();
  for (auto entry = hosts_.begin(); entry != hosts_.end();) {
    auto& [name, host] = *entry;
    Fill(now_ms, &host);
    Judge(name, host);
    const bool is_as_new = host.attempts >= kMostAttempts && host.open == 0 && host.known == 0;
    entry = is_as_new ? hosts_.erase(entry) : std::next(entry);
  }
  if (!rule_.only_known) rule_.known.clear();  // or the rule would change for nothing
  return rule_;
}

}  // namespace weir::transport
