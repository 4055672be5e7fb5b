#include "common/base/directory_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

namespace weir {
namespace {

using ::testing::HasSubstr;
using ::testing::TempDir;

TEST(DirectoryLock, OneHolderAtATime) {
  const std::string folder = TempDir() + "/directory_lock_test";
  std::filesystem::create_directories(folder);
  auto first = DirectoryLock::Take(folder);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_TRUE(DirectoryLock::SeemsHeld(folder));
  const Status refused = DirectoryLock::Take(folder).status();
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(refused.message(), HasSubstr("another run writes to " + folder));
  {
    const DirectoryLock moved = *std::move(first);
    EXPECT_FALSE(DirectoryLock::Take(folder).ok());
  }
  EXPECT_FALSE(DirectoryLock::SeemsHeld(folder));
  EXPECT_TRUE(DirectoryLock::Take(folder).ok());
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  std::filesystem::remove(folder);
}

TEST(DirectoryLock, NamesWhatIsNoFolder) {
  const std::string file = TempDir() + "/directory_lock_file";
  std::ofstream(file) << "x";
  EXPECT_THAT(DirectoryLock::Take(file).status().message(), HasSubstr(file));
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace weir
