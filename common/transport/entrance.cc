#include "common/transport/entrance.h"

#include "common/base/check.h"
#include "common/base/strings.h"
#include "common/transport/connection_filter.h"

namespace weir::transport {

std::string HostOf(const std::string& address) {
  constexpr std::string_view kMapped = "::ffff:";
  std::string host = address.substr(0, address.rfind(':'));
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  const bool is_mapped = host.starts_with(kMapped) && host.find('.') != std::string::npos;
  return is_mapped ? host.substr(kMapped.size()) : host;
}

namespace {

// A socket has little room for filters, and the one before takes some of it until the next is
// there.
Status ApplyInPlace(const ConnectionRule& rule, int descriptor) {
  const Status status = Apply(rule, descriptor);
  if (status.ok() || !Apply({}, descriptor).ok()) return status;
  return Apply(rule, descriptor);
}

}  // namespace

bool Entrance::OnAccepted(int descriptor, const std::string& address, int64_t now_ms) {
  return book_.OnCome(descriptor, HostOf(address), now_ms);
}

void Entrance::Look(int64_t now_ms) {
  warnings_.WarnOfCounted();
  const ConnectionRule& rule = book_.Rule(now_ms);
  if (rule == applied_) return;
  for (const int descriptor : listening_) {
    const Status status = ApplyInPlace(rule, descriptor);
    if (!status.ok())
      return warnings_.Warn("kernel", status.message());  // the next look tries again
  }
  Tell(rule);
  applied_ = rule;
}

void Entrance::Tell(const ConnectionRule& rule) {
  for (const std::string& host : rule.shut) {
    if (applied_.shut.contains(host)) continue;
    warnings_.Warn(host, StrCat("no connections are taken from ", host, " for a second or more: ",
                                "too many of it have not proved who they are; is it one of ours?"));
  }
  if (rule.only_known && !applied_.only_known) {
    warnings_.Warn("",
                   "connections are taken from hosts with a known process alone, for a second "
                   "or more: too many strangers come");
  }
}

}  // namespace weir::transport
