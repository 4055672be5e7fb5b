#include "common/base/file_system.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include "tests/support/temp_folder.h"

namespace weir {
namespace {

class RealFileSystem : public testing::Test {
 protected:
  std::string In(const std::string& name) const { return folder_.path() + "/" + name; }
  Status Write(const std::string& name, const std::vector<ByteSpan>& parts) {
    WEIR_ASSIGN_OR_RETURN(const auto file, files_.Create(In(name)));
    WEIR_RETURN_IF_ERROR(file->Append(parts));
    return file->Sync();
  }

  test::TempFolder folder_;
  FileSystem& files_ = FileSystem::Real();
};

TEST_F(RealFileSystem, AppendsPartsOneBehindTheOther) {
  ASSERT_TRUE(Write("a", {AsBytes("one"), {}, AsBytes("two")}).ok());
  EXPECT_EQ(files_.Size(In("a")).value(), 6u);
  const Bytes all = files_.Read(In("a"), 0, 100).value();
  EXPECT_EQ(std::string(all.begin(), all.end()), "onetwo");
  EXPECT_EQ(files_.Read(In("a"), 2, 2).value(), Bytes({'e', 't'}));
  EXPECT_TRUE(files_.Read(In("a"), 9, 2).value().empty());
}

// More than the kernel takes at a time.
TEST_F(RealFileSystem, AppendsThousandsOfParts) {
  const Bytes piece(100, 7);
  ASSERT_TRUE(Write("many", std::vector<ByteSpan>(5000, piece)).ok());
  EXPECT_EQ(files_.Read(In("many"), 0, 1'000'000).value(), Bytes(500'000, 7));
}

TEST_F(RealFileSystem, RenamesListsAndRemoves) {
  ASSERT_TRUE(files_.MakeFolder(In("folder")).ok());
  EXPECT_TRUE(files_.MakeFolder(In("folder")).ok()) << "again";
  ASSERT_TRUE(Write("b", {AsBytes("b")}).ok());
  ASSERT_TRUE(Write("a", {AsBytes("a")}).ok());
  EXPECT_EQ(files_.List(folder_.path()).value(), (std::vector<std::string>{"a", "b", "folder"}));
  ASSERT_TRUE(files_.Rename(In("a"), In("b")).ok());
  EXPECT_TRUE(files_.SyncFile(In("b")).ok());
  EXPECT_TRUE(files_.SyncFolder(folder_.path()).ok());
  EXPECT_EQ(files_.Read(In("b"), 0, 1).value(), Bytes({'a'}));
  EXPECT_TRUE(files_.Remove(In("b")).ok());
  EXPECT_TRUE(files_.Remove(In("b")).ok()) << "again";
  EXPECT_EQ(files_.List(folder_.path()).value(), (std::vector<std::string>{"folder"}));
}

TEST_F(RealFileSystem, SaysWhatItCannotDoAndWhere) {
  EXPECT_EQ(files_.Read(In("none"), 0, 1).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(files_.Size(In("none")).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(files_.List(In("none")).status().code(), StatusCode::kNotFound);
  const Status written = files_.Create(In("none/file")).status();
  EXPECT_EQ(written.code(), StatusCode::kUnavailable);
  EXPECT_NE(written.message().find(In("none/file")), std::string::npos) << written.message();
}

TEST_F(RealFileSystem, GivesAFolderToOne) {
  auto claim = files_.Claim(folder_.path());
  ASSERT_TRUE(claim.ok());
  EXPECT_EQ(files_.Claim(folder_.path()).status().code(), StatusCode::kFailedPrecondition);
  claim->reset();
  EXPECT_TRUE(files_.Claim(folder_.path()).ok());
}

}  // namespace
}  // namespace weir
