// Values of flags: addresses, lists of them, devices, sizes, orders, and command lines. The first
// byte of the input chooses which.
#include "common/base/check.h"
#include "common/base/strings.h"
#include "common/device/device_name.h"
#include "common/program/command_line.h"
#include "common/transport/tcp_address.h"
#include "tests/fuzz/target.h"
#include "tools/local/kill_plan.h"

namespace weir::fuzz {
namespace {

void ReadAddress(const std::string& text) {
  const auto address = transport::ParseTcpAddress(text);
  if (!address.ok()) return;
  CHECK(address->port >= 0 && address->port <= 65535);
  const auto again = transport::ParseTcpAddress(transport::ToString(*address));
  CHECK(again.ok()) << again.status();
  CHECK_EQ(again->host, address->host);
  CHECK_EQ(again->port, address->port);
}

void ReadOrders(const std::string& text) {
  tools::LocalOptions options;
  options.stage_count = 2;
  options.kill_after = text;
  if (!tools::KillMistakes(options).empty()) return;
  tools::KillPlan plan(text);
  plan.Begin(5);
  while (const auto next_ms = plan.next_ms()) CHECK(plan.TakeDue(*next_ms).has_value());
}

void ReadCommandLine(const std::string& text) {
  const std::vector<std::string> words = StrSplit("program\n" + text, '\n');
  std::vector<const char*> arguments;
  for (const std::string& word : words) arguments.push_back(word.c_str());
  const Status status = CheckCommandLine(static_cast<int>(arguments.size()), arguments.data());
  CHECK(status.ok() || !status.message().empty());
}

void ReadInput(uint8_t choice, const std::string& text) {
  switch (choice % 6) {
    case 0:
      return ReadAddress(text);
    case 1:
      transport::PeerListMistakes(StrSplit(text, ','));
      return;
    case 2:
      if (const auto size = device::ParseMemorySize(text); size.ok()) {
        CHECK_EQ(*size > 0, !text.empty());
      }
      return;
    case 3:
      if (const auto name = device::ParseDeviceName(text); name.ok()) CHECK_GE(name->number, 0);
      return;
    case 4:
      return ReadOrders(text);
    default:
      return ReadCommandLine(text);
  }
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  return {std::string(1, 0) + "tcp://host:7100",
          std::string(1, 0) + "tcp://[::1]:0",
          std::string(1, 0) + "tcp://[fe80::1%eth0]:65535",
          "\1tcp://a:1,tcp://b:2,tcp://a:1,tcp://*:3",
          "\2"
          "24GiB",
          "\2"
          "800MiB",
          "\3cuda:1023",
          "\3cpu",
          "\4server-1:3000,trainer-0-stage-1:5000",
          "\5--config=a\n-override\nb\n--save=\n--\n--config"};
}

}  // namespace weir::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 0) weir::fuzz::ReadInput(data[0], {data + 1, data + size});
  return 0;
}
