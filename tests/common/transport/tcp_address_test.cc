#include "common/transport/tcp_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::transport {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

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
