#include "tools/local/recovery_options.h"

#include <gmock/gmock.h>

#include "tests/tools/local_support.h"

namespace weir::tools {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class RecoveryOptionsTest : public LocalTest {
 protected:
  LocalOptions options_;
};

TEST_F(RecoveryOptionsTest, KeepALogWhereTheConfigSaysSo) {
  v1::ClusterConfig cluster;
  cluster.set_durability(v1::NONE);
  EXPECT_THAT(DurabilityMistakes(options_, cluster), IsEmpty());
  options_.data_directory = Path("data");
  EXPECT_THAT(DurabilityMistakes(options_, cluster),
              ElementsAre(HasSubstr("--data_dir: cluster.durability is NONE")));
  for (const v1::Durability durability : {v1::PROCESS, v1::MACHINE}) {
    cluster.set_durability(durability);
    options_.data_directory = Path("data");
    EXPECT_THAT(DurabilityMistakes(options_, cluster), IsEmpty());
    EXPECT_THAT(RecoveryMistakes(options_), IsEmpty());
    options_.data_directory.clear();
    EXPECT_THAT(DurabilityMistakes(options_, cluster), ElementsAre(HasSubstr("give --data_dir")));
  }
}

TEST_F(RecoveryOptionsTest, KeepAndRestartNothingWithoutServers) {
  options_.server_count = 0;
  options_.data_directory = Path("data");
  options_.most_restarts = 1;
  EXPECT_THAT(RecoveryMistakes(options_),
              ElementsAre(HasSubstr("nothing to keep"), HasSubstr("begins anew")));
}

TEST_F(RecoveryOptionsTest, RefuseAFileForLogs) {
  options_.data_directory = Path("file");
  WriteFile(Path("file"), "");
  EXPECT_THAT(RecoveryMistakes(options_),
              ElementsAre(HasSubstr("--data_dir=" + Path("file") + ": is not a directory")));
}

TEST_F(RecoveryOptionsTest, BoundRestarts) {
  for (const int count : {-1, 1001}) {
    options_.most_restarts = count;
    EXPECT_THAT(RecoveryMistakes(options_), ElementsAre(HasSubstr("must be from 0 to 1000")));
  }
  options_.most_restarts = 1000;
  EXPECT_THAT(RecoveryMistakes(options_), IsEmpty());
}

}  // namespace
}  // namespace weir::tools
