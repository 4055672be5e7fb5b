#include "worker/data/input_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/worker/data/data_files.h"
#include "worker/data/reader.h"

namespace weir::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class InputFiles : public DataFilesTest {
 protected:
  void MakeFolder(const std::string& name) { std::filesystem::create_directories(Path(name)); }

  v1::DataConfig Data(const std::vector<std::string>& train) const {
    v1::DataConfig data = CriteoConfig(train).data();
    data.set_root(directory());
    return data;
  }

  std::vector<std::string> Found(const std::string& train) const {
    const auto found = FindFiles(Data({train}));
    EXPECT_TRUE(found.ok()) << found.status();
    if (!found.ok()) return {};
    return {found->train().begin(), found->train().end()};
  }

  std::string Problem(const std::string& train) const {
    const Status status = FindFiles(Data({train})).status();
    EXPECT_EQ(status.code(), StatusCode::kNotFound);
    return status.message();
  }
};

TEST_F(InputFiles, APatternMeansWhatItMatchesInTheOrderOfBytes) {
  for (const char* name : {"part-10", "part-2", "part-Z", "part-a", "other"}) Write(name, "x\n");
  EXPECT_THAT(Found("part-*"), ElementsAre("part-10", "part-2", "part-Z", "part-a"));
  EXPECT_THAT(Found("part-?"), ElementsAre("part-2", "part-Z", "part-a"));
  EXPECT_THAT(Found("part-[0-9]*"), ElementsAre("part-10", "part-2"));
  v1::DataConfig data = Data({"part-*", "other"});
  data.add_test("o*");
  const auto found = FindFiles(data);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->train_size(), 5);
  EXPECT_EQ(found->train(4), "other");
  EXPECT_THAT(found->test(), ElementsAre("other"));
}

TEST_F(InputFiles, AFolderMeansItsFiles) {
  MakeFolder("days");
  for (const char* name :
       {"days/b.gz", "days/a.gz", "days/_SUCCESS", "days/.a.gz.crc", "days/b.gz.crc",
        "days/.hidden", "days/a.partial-123", "days/c.partial"}) {
    Write(name, "x\n");
  }
  EXPECT_THAT(Found("days"), ElementsAre("days/a.gz", "days/b.gz"));
  EXPECT_THAT(Found("days/"), ElementsAre("days/a.gz", "days/b.gz"));
  EXPECT_THAT(Found("days/*"), ElementsAre("days/a.gz", "days/b.gz"));
  EXPECT_THAT(Found(Path("days")), ElementsAre(Path("days/a.gz"), Path("days/b.gz")));
  EXPECT_THAT(Found(Path("days/a*")), ElementsAre(Path("days/a.gz")));
}

TEST_F(InputFiles, APatternMayMatchFolders) {
  for (const char* day : {"day=2", "day=1", "_temporary"}) {
    MakeFolder(day);
    Write(StrCat(day, "/part-0"), "x\n");
  }
  EXPECT_THAT(Found("*"), ElementsAre("day=1/part-0", "day=2/part-0"));
  EXPECT_THAT(Found("day=*/part-*"), ElementsAre("day=1/part-0", "day=2/part-0"));
  EXPECT_THAT(Found("_temporary"), ElementsAre("_temporary/part-0"));
  EXPECT_THAT(Found("_temp*"), ElementsAre("_temporary/part-0"));
}

TEST_F(InputFiles, APatternPassesOverFoldersOfUnfinishedJobs) {
  for (const char* folder : {"out/day-1", "out/_temporary", "out/.staging"}) {
    MakeFolder(folder);
    Write(StrCat(folder, "/part-0"), "x\n");
  }
  EXPECT_THAT(Found("out/*/part-*"), ElementsAre("out/day-1/part-0"));
  EXPECT_THAT(Found(Path("out/*/part-0")), ElementsAre(Path("out/day-1/part-0")));
  EXPECT_THAT(Found("o*//*/part-*"), testing::SizeIs(1));
  EXPECT_THAT(Found("out/_temp*/part-*"), ElementsAre("out/_temporary/part-0"));
  EXPECT_THAT(Found("out/_temporary/*"), ElementsAre("out/_temporary/part-0"));
  EXPECT_THAT(Found("out/.stag*/*"), ElementsAre("out/.staging/part-0"));
}

TEST_F(InputFiles, AFileOfThatVeryNameIsMeantItself) {
  Write("part-*", "x\n");
  Write("part-1", "x\n");
  EXPECT_THAT(Found("part-*"), ElementsAre("part-*"));
  EXPECT_THAT(Found("missing"), ElementsAre("missing")) << "who reads it says so";
}

TEST_F(InputFiles, CharactersOfTheRootAreNoPattern) {
  MakeFolder("r*[1]");
  Write("r*[1]/part-1", "x\n");
  v1::DataConfig data = Data({"part-*"});
  data.set_root(Path("r*[1]"));
  const auto found = FindFiles(data);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(found->train(), ElementsAre("part-1"));
}

TEST_F(InputFiles, PassesOverEmptyFilesAmongOthers) {
  Write("part-0", "");
  Write("part-1", "x\n");
  EXPECT_THAT(Found("part-*"), ElementsAre("part-1"));
  EXPECT_THAT(Found("part-0"), ElementsAre("part-0")) << "named alone, its reader refuses it";
  std::filesystem::remove(Path("part-1"));
  EXPECT_THAT(Problem("part-*"), HasSubstr("data.train[0]: all files of"));
}

TEST_F(InputFiles, TellsWhatIsNotFound) {
  EXPECT_EQ(Problem("part-*.gz"),
            "data.train[0]: no file matches " + Path("part-*.gz") + "; correct it or data.root");
  EXPECT_THAT(Problem("a/**/b"), HasSubstr("write one '*' for each folder"));
  MakeFolder("days");
  EXPECT_THAT(Problem("days"), HasSubstr("folder " + Path("days") + " has no file to read"));
  MakeFolder("days/day=1");
  Write("days/a", "x\n");
  EXPECT_THAT(Problem("days"), HasSubstr("has folders, such as day=1; name those to read, for "
                                         "example by the pattern days/*"));
}

// Workers compare these numbers when they join.
TEST_F(InputFiles, SizesAreThoseOfTheFilesThatWereFound) {
  Write("part-0", "1234");
  Write("part-1", "12");
  const auto found = FindFiles(Data({"part-*"}));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(FileBytes(*found), (std::vector<uint64_t>{4, 2}));
}

}  // namespace
}  // namespace weir::data
