#include "common/transport/tcp_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::transport {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(TcpAddress, IsReadAndWritten) {
  for (const char* text : {"tcp://h:0", "tcp://10.0.0.1:65535", "tcp://*:7100", "tcp://[::1]:7100",
                           "tcp://[fe80::1%eth0]:7100"}) {
    const auto address = ParseTcpAddress(text);
    ASSERT_TRUE(address.ok()) << address.status();
    EXPECT_EQ(ToString(*address), text);
  }
  EXPECT_TRUE(IsEveryInterface(ParseTcpAddress("tcp://[::]:7100").value()));
  EXPECT_FALSE(IsEveryInterface(ParseTcpAddress("tcp://[::1]:7100").value()));
}

TEST(TcpAddress, OfTheLoopbackIsReachedFromThisMachineAlone) {
  for (const char* text :
       {"tcp://127.0.0.1:1", "tcp://127.255.0.9:1", "tcp://localhost:1", "tcp://[::1]:1"}) {
    EXPECT_TRUE(IsLoopback(ParseTcpAddress(text).value())) << text;
  }
  for (const char* text : {"tcp://*:1", "tcp://0.0.0.0:1", "tcp://[::]:1", "tcp://128.0.0.1:1",
                           "tcp://127.example.org:1", "tcp://h:1", "tcp://[::ffff:127.0.0.1]:1"}) {
    EXPECT_FALSE(IsLoopback(ParseTcpAddress(text).value())) << text;
  }
}

TEST(TcpAddress, SaysWhatIsWrongWithWhichText) {
  const auto refusal = [](const std::string& text) {
    const Status status = ParseTcpAddress(text).status();
    EXPECT_THAT(status.message(), testing::StartsWith("bad address '" + text + "': "));
    return status.message();
  };
  EXPECT_THAT(refusal("h:7100"), HasSubstr("does not begin with tcp://"));
  EXPECT_THAT(refusal("tcp://h"), HasSubstr("names no port"));
  EXPECT_THAT(refusal("tcp://:7100"), HasSubstr("names no host"));
  EXPECT_THAT(refusal("tcp://a b:7100"), HasSubstr("'a b' is no host"));
  for (const char* port : {"65536", "99999999999999999999", "-1", "71x", "", " 1"}) {
    EXPECT_THAT(
        refusal(std::string("tcp://h:") + port),
        HasSubstr(std::string("'") + port + "' is no port, which is a number from 0 to 65535"));
  }
  EXPECT_THAT(refusal("tcp://::1:7100"), HasSubstr("stands in brackets"));
  EXPECT_THAT(refusal("tcp://[::g]:7100"), HasSubstr("'::g' is no IPv6 address"));
  EXPECT_THAT(refusal("tcp://[::1]"), HasSubstr("names no port"));
}

TEST(PeerList, HasOnePlaceForEachProcess) {
  EXPECT_THAT(PeerListMistakes({}), IsEmpty());
  EXPECT_THAT(PeerListMistakes({"tcp://h0:7100", "tcp://h0:7101", "tcp://h1:7100"}), IsEmpty());
  EXPECT_THAT(PeerListMistakes({"tcp://h:7100", ""}), ElementsAre(HasSubstr("bad address ''")));
  EXPECT_THAT(PeerListMistakes({"tcp://*:7100", "tcp://0.0.0.0:7100", "tcp://h:0"}),
              ElementsAre(HasSubstr("name the host"), HasSubstr("name the host"),
                          HasSubstr("name the port")));
  EXPECT_THAT(PeerListMistakes({"tcp://h:7100", "tcp://h:7100"}),
              ElementsAre(HasSubstr("comes twice")));
}

}  // namespace
}  // namespace weir::transport
