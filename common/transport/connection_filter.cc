#include "common/transport/connection_filter.h"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "common/base/check.h"
#include "common/base/strings.h"

namespace weir::transport {
namespace {

// Of classic BPF, which the kernel runs over each packet for the socket. It begins at the TCP
// header; the one before it is reached through SKF_NET_OFF.
constexpr uint32_t kFlags = 13, kSyn = 0x02, kAck = 0x10;
constexpr uint32_t kNetwork = static_cast<uint32_t>(SKF_NET_OFF);
constexpr uint32_t kSource4 = kNetwork + 12, kSource6 = kNetwork + 8;
constexpr uint32_t kDrop = 0, kTake = 0xffffffff;

using Code = std::vector<sock_filter>;

sock_filter Do(uint16_t code, uint32_t value) { return {code, 0, 0, value}; }

sock_filter JumpIfEqual(uint32_t value, uint8_t then, uint8_t otherwise) {
  return {BPF_JMP | BPF_JEQ | BPF_K, then, otherwise, value};
}

// What becomes of packets from hosts, and of others where nothing is said of them.
struct Verdicts {
  Code four = {Do(BPF_LD | BPF_W | BPF_ABS, kSource4)}, six;

  void Add(const std::set<std::string>& hosts, uint32_t verdict);
  void AddRest(uint32_t verdict) {
    four.push_back(Do(BPF_RET | BPF_K, verdict));
    six.push_back(Do(BPF_RET | BPF_K, verdict));
  }
};

// Four words in a row; where one differs, behind the end.
void Add6(const in6_addr& host, uint32_t verdict, Code* code) {
  std::array<uint32_t, 4> words;
  std::memcpy(words.data(), &host, sizeof(words));
  for (uint32_t i = 0; i < words.size(); ++i) {
    code->push_back(Do(BPF_LD | BPF_W | BPF_ABS, kSource6 + 4 * i));
    code->push_back(JumpIfEqual(ntohl(words[i]), 0, static_cast<uint8_t>(2 * (3 - i) + 1)));
  }
  code->push_back(Do(BPF_RET | BPF_K, verdict));
}

void Verdicts::Add(const std::set<std::string>& hosts, uint32_t verdict) {
  for (const std::string& host : hosts) {
    in_addr address4 = {};
    in6_addr address6 = {};
    if (inet_pton(AF_INET, host.c_str(), &address4) == 1) {
      four.push_back(JumpIfEqual(ntohl(address4.s_addr), 0, 1));
      four.push_back(Do(BPF_RET | BPF_K, verdict));
    } else if (inet_pton(AF_INET6, host.c_str(), &address6) == 1) {
      Add6(address6, verdict, &six);
    }
  }
}

Code CodeOf(const ConnectionRule& rule) {
  Verdicts verdicts;
  verdicts.Add(rule.shut, kDrop);
  if (rule.only_known) verdicts.Add(rule.known, kTake);
  verdicts.AddRest(rule.only_known ? kDrop : kTake);
  Code code = {Do(BPF_LD | BPF_B | BPF_ABS, kFlags),
               Do(BPF_ALU | BPF_AND | BPF_K, kSyn | kAck),
               JumpIfEqual(kSyn, 1, 0),
               Do(BPF_RET | BPF_K, kTake),
               Do(BPF_LD | BPF_B | BPF_ABS, kNetwork),
               Do(BPF_ALU | BPF_AND | BPF_K, 0xf0),
               JumpIfEqual(0x40, 1, 0),  // which version of IP
               Do(BPF_JMP | BPF_JA, static_cast<uint32_t>(verdicts.four.size()))};
  code.insert(code.end(), verdicts.four.begin(), verdicts.four.end());
  code.insert(code.end(), verdicts.six.begin(), verdicts.six.end());
  return code;
}

}  // namespace

Status Apply(const ConnectionRule& rule, int descriptor) {
  CHECK_LE(std::max(rule.shut.size(), rule.known.size()), ConnectionRule::kMostHosts);
  Code code = CodeOf(rule);
  const sock_fprog program = {static_cast<uint16_t>(code.size()), code.data()};
  if (setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) == 0) {
    return OkStatus();
  }
  return Unavailable(StrCat("cannot have the kernel drop connections: ", std::strerror(errno)));
}

}  // namespace weir::transport
