#include "tools/data/inspect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "common/base/random.h"
#include "common/base/strings.h"
#include "common/config/load_config.h"
#include "tests/tools/data/inspect_support.h"
#include "worker/data/reader.h"

namespace weir::tools {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class Inspecting : public InspectTest {
 protected:
  // The config that --out writes, as a run loads it.
  v1::Config Proposed(const std::string& path, const std::string& test_path = "") const {
    std::ostringstream out;
    const Status status =
        Inspect({.path = path, .test_path = test_path, .out = Path("my.textproto")}, out);
    EXPECT_TRUE(status.ok()) << status << "\n" << out.str();
    auto config = config::LoadConfig({Path("my.textproto")}, "");
    EXPECT_TRUE(config.ok()) << config.status();
    return config.ok() ? *config : v1::Config();
  }
  // Rows that training would read with it.
  static int64_t RowsRead(const v1::Config& config, data::Split split = data::Split::kTrain) {
    auto reader = data::MakeReader(config);
    EXPECT_TRUE(reader.ok()) << reader.status();
    data::RowBlock block;
    if (!reader.ok() || !(*reader)->ReadChunk({.split = split}, &block).ok()) return -1;
    return block.row_count();
  }
};

TEST_F(Inspecting, RefusesOtherEncodings) {
  std::ofstream(Path("utf16.csv"), std::ios::binary) << std::string(
      "\xff\xfe"
      "a\0,\0b\0\n\0"
      "1\0,\0"
      "2\0\n\0",
      16);
  EXPECT_THAT(Refused(Path("utf16.csv")), HasSubstr("UTF-"));
}

TEST_F(Inspecting, TellsOfLinesOfAnotherEncoding) {
  std::string text = "label,city\n0,Bonn\n0,Bonn\n0,Bonn\n";
  for (int i = 0; i < 20; ++i) text += "1,K\xf6ln\n0,Bonn\n1,Bonn\n";
  EXPECT_THAT(InspectedText(text),
              AllOf(HasSubstr("20 of 64 lines are not UTF-8, which readers refuse, line 5"),
                    HasSubstr("with it 20 of 63 lines are malformed, the first: " + Path("f") +
                              ":5: the line is not UTF-8")));
}

TEST_F(Inspecting, FailsOnAFileWithoutARow) {
  EXPECT_THAT(RefusedText("hello\n"), HasSubstr("f has no two columns"));
  std::ostringstream out;
  EXPECT_EQ(Inspect({.path = Path("gone")}, out).code(), StatusCode::kNotFound);
}

TEST_F(Inspecting, WritesAConfigThatReadsTheFileAsItIs) {
  const std::string path =
      Write("f.csv", Lines(60, [](int i) {
              return i == 0 ? std::string("label,user,price,note")
                            : StrCat(i % 2, ",u", i % 7, ",", 0.5 * i, ",\"a,b\"");
            }));
  const v1::Config config = Proposed(path);
  EXPECT_EQ(RowsRead(config), 59);
  EXPECT_EQ(config.data().csv().dense_size(), 1);
  EXPECT_EQ(config.data().csv().categorical_size(), 1) << "note is always the same";
  EXPECT_THAT(config.model().top_widths(), ElementsAre(64, 32, 1));
  EXPECT_EQ(config.update().dense().schedule().cosine().steps(), 2 * config.data().epochs());
}

TEST_F(Inspecting, OverwritesNothing) {
  const std::string path = Write("f.csv", "label,x\n1,2.5\n0,1.5\n");
  const std::string mine = Write("my.textproto", "mine");
  std::ostringstream out;
  const Status status = Inspect({.path = path, .out = mine}, out);
  EXPECT_EQ(status.code(), StatusCode::kInvalidConfig);
  EXPECT_THAT(status.message(), HasSubstr("my.textproto is there already"));
  std::string text;
  std::ifstream(mine) >> text;
  EXPECT_EQ(text, "mine");
}

TEST_F(Inspecting, WritesNoConfigOfAFileThatIsNotRead) {
  std::ostringstream out;
  const std::string path = Write("f.csv", "label,a,a\n1,2.5,x\n0,1.5,y\n");
  EXPECT_FALSE(Inspect({.path = path, .out = Path("my.textproto")}, out).ok());
  EXPECT_FALSE(std::filesystem::exists(Path("my.textproto")));
}

TEST_F(Inspecting, NamesTheNextCommands) {
  std::ostringstream out;
  const std::string path = Write("f.csv", "label,x\n1,2.5\n0,1.5\n");
  ASSERT_TRUE(Inspect({.path = path, .out = Path("my.textproto")}, out).ok());
  EXPECT_THAT(out.str(), AllOf(HasSubstr("weir-data split " + path + " --test_share=0.1\n"),
                               HasSubstr(StrCat("weir-data inspect ", Path("f.train.csv"), " ",
                                                Path("f.test.csv"), " --out=")),
                               HasSubstr(StrCat("weir-local --config=", Path("my.textproto"),
                                                " --servers=1 --trainers=1 --out=out\n"))));
}

TEST_F(Inspecting, ReadsTheTestFileTooAndTakesLabelsThatDifferInWriting) {
  const std::string train = Write("a.csv", "income,x\n>50K,2.5\n<=50K,1.5\n<=50K,1.7\n");
  const std::string test = Write("b.csv", "income,x\n<=50K.,2.5\n>50K.,1.5\n");
  const v1::Config config = Proposed(train, test);
  EXPECT_THAT(config.data().csv().label().positive(), ElementsAre(">50K", ">50K."));
  EXPECT_THAT(config.data().csv().label().negative(), ElementsAre("<=50K", "<=50K."));
  EXPECT_EQ(RowsRead(config, data::Split::kTest), 2);
}

TEST_F(Inspecting, RefusesATestFileThatTheConfigDoesNotRead) {
  const std::string train = Write("a.csv", "label,x\n1,2.5\n0,1.5\n");
  std::ostringstream out;
  const Status status =
      Inspect({.path = train, .test_path = Write("b.csv", "label,z\n1,2.5\n0,1.5\n")}, out);
  EXPECT_THAT(status.message(), HasSubstr("names column 'x', which the file does not have"));
}

// Texts of what tells formats apart, in any order.
TEST_F(Inspecting, RefusesOrReadsWhateverThereIs) {
  const std::vector<std::string> words = {
      "1",  "0",  "-1", "2.5", "a",   "\"",    ",",   "\t",   "|",     ":",    "::",   " ",
      "\n", "\n", "{",  "}",   "3:1", "qid:1", "nan", "\x01", "label", "\xff", "1e400"};
  for (uint64_t seed = 0; seed < 300; ++seed) {
    RandomStream random(seed);
    std::string text;
    for (uint64_t i = 0; i <= seed % 60; ++i) text += words[random.NextBelow(words.size())];
    std::ostringstream out;
    const std::string path = Write("f", text);
    const Status status = Inspect({.path = path, .out = Path("c.textproto")}, out);
    EXPECT_EQ(std::filesystem::remove(Path("c.textproto")), status.ok()) << seed << "\n" << text;
    EXPECT_TRUE(status.ok() || status.code() == StatusCode::kInvalidData) << seed << status;
    EXPECT_EQ(status.ok(), out.str().find("reads       with it ") != std::string::npos &&
                               out.str().find("---\n") != std::string::npos);
  }
}

// Columns without a number, a label with many values and so on: what may be proposed is valid.
TEST_F(Inspecting, ProposesOnlyWhatAConfigMayHold) {
  EXPECT_THAT(RefusedText("label,x\n1,a\n0,a\n1,a\n"), HasSubstr("no column to learn from"));
  const std::string wide = Lines(40, [](int i) {
    std::string line = i == 0 ? "label" : StrCat(i % 2);
    for (int c = 0; c < 1100; ++c)
      line += i == 0 ? StrCat(",c", c) : StrCat(",v", (i * (c % 4 + 1)) % 5);
    return line;
  });
  EXPECT_THAT(RefusedText(wide),
              AllOf(StartsWith("no config holds this data: "),
                    HasSubstr("data.csv.categorical: has 1100 columns; at most 1024")));
}

TEST_F(Inspecting, TellsMessagesOfTheReaderOfALabel) {
  const std::string text = Lines(100, [](int i) {
    return i == 0 ? std::string("label,x") : StrCat(i == 50 ? "" : StrCat(i % 2), ",", 0.5 * i);
  });
  EXPECT_THAT(InspectedText(text),
              AllOf(HasSubstr("with it 1 of 99 lines is malformed, the first: " + Path("f") +
                              ":51: the label is ''"),
                    HasSubstr("max_malformed_share: 0.03\n")));
  EXPECT_THAT(InspectedText("label,x\n1,2.5\n0,1.5\n"), Not(HasSubstr("max_malformed_share")));
}

}  // namespace
}  // namespace weir::tools
