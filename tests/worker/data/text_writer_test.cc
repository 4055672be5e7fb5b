#include "worker/data/text_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/worker/data/data_files.h"

namespace weir::data {
namespace {

using testing::HasSubstr;

class TextWriterTest : public DataFilesTest {
 protected:
  size_t FileCount() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(directory()), {}));
  }
};

TEST_F(TextWriterTest, AFinishedFileIsNotYetInItsPlace) {
  auto writer = TextWriter::Create(Path("a.txt"));
  ASSERT_TRUE(writer.ok()) << writer.status();
  ASSERT_TRUE((*writer)->Write("text").ok());
  ASSERT_TRUE((*writer)->Finish().ok());
  EXPECT_FALSE(std::filesystem::exists(Path("a.txt")));
  ASSERT_TRUE((*writer)->Close().ok());
  EXPECT_EQ(std::filesystem::file_size(Path("a.txt")), 4u);
  EXPECT_EQ(FileCount(), 1u);
}

TEST_F(TextWriterTest, WhatIsNotClosedIsTakenAway) {
  for (const bool finished : {false, true}) {
    auto writer = TextWriter::Create(Path("a.txt"));
    ASSERT_TRUE((*writer)->Write("text").ok());
    EXPECT_TRUE(!finished || (*writer)->Finish().ok());
    EXPECT_EQ(FileCount(), 1u);
    writer->reset();
    EXPECT_EQ(FileCount(), 0u);
  }
}

TEST_F(TextWriterTest, WhatCannotBeAFileIsTold) {
  EXPECT_THAT(TextWriter::Create(directory()).status().message(),
              HasSubstr("is a directory or a device; name a file"));
  // Where looking at the path fails, so does this, and nothing is thrown.
  for (const std::string& path : {Path(std::string(300, 'a')), Write("file", "x") + "/a.txt"}) {
    EXPECT_EQ(TextWriter::Create(path).status().code(), StatusCode::kNotFound) << path;
  }
}

}  // namespace
}  // namespace weir::data
