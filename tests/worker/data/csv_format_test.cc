#include "worker/data/csv_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "common/config/defaults.h"
#include "google/protobuf/text_format.h"
#include "tests/worker/data/data_files.h"

namespace weir::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// A reader of one file, with chunks of a thousand rows.
class Csv : public DataFilesTest {
 protected:
  v1::Config Config(const std::string& path, const std::string& csv) const {
    v1::Config config;
    CHECK(google::protobuf::TextFormat::ParseFromString(csv, config.mutable_data()->mutable_csv()))
        << csv;
    config.mutable_data()->add_train(path);
    config.mutable_data()->set_batch_size(100);
    config.mutable_data()->set_chunk_batches(10);
    config::FillDefaults(&config);
    return config;
  }

  Status Open(const std::string& text, const std::string& csv) {
    auto reader = MakeReader(Config(Write("f.csv", text), csv));
    if (!reader.ok()) return reader.status();
    reader_ = *std::move(reader);
    return OkStatus();
  }

  ChunkResult Read(const std::string& text, const std::string& csv, int64_t chunk = 0) {
    const Status opened = Open(text, csv);
    EXPECT_TRUE(opened.ok()) << opened;
    if (!opened.ok()) return {};
    auto result = reader_->ReadChunk({Split::kTrain, 0, 0, chunk}, &block_);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? *result : ChunkResult{};
  }

  // What is wrong with the only row of the text.
  std::string Problem(const std::string& text, const std::string& csv) {
    const ChunkResult result = Read(text, csv);
    EXPECT_EQ(block_.malformed.size(), 1u);
    EXPECT_TRUE(block_.labels.empty() && block_.dense.empty() && block_.ids.empty());
    return result.problems.empty() ? "" : result.problems[0];
  }

  std::unique_ptr<Reader> reader_;
  RowBlock block_;
};

constexpr const char* kClicks = R"(
    label { column: "click" }
    dense { column: "hour" }
    categorical { column: "site" rows: 1000 })";

TEST_F(Csv, FindsTheColumnsThatTheConfigNames) {
  Read("site,ignored,hour,click\nx,?,3.5,1\ny,?,-2e1,0\nx,?,,1\n", kClicks);
  EXPECT_THAT(block_.labels, ElementsAre(1, 0, 1));
  EXPECT_THAT(block_.dense, ElementsAre(3.5f, -20.0f, 0.0f));
  ASSERT_THAT(block_.ids, SizeIs(3));
  EXPECT_EQ(block_.ids[0], block_.ids[2]);
  EXPECT_NE(block_.ids[0], block_.ids[1]);
  for (const uint64_t id : block_.ids) EXPECT_TRUE(id >= 1 && id < 1000);
  EXPECT_FALSE(block_.has_lists());
}

TEST_F(Csv, ReadsFilesWithoutAHeaderByNumber) {
  Read("1;x;3\n0;y;4\n", R"(delimiter: ";" header: false label { column: "0" }
                            dense { column: "2" } categorical { column: "1" rows: 9 })");
  EXPECT_THAT(block_.labels, ElementsAre(1, 0));
  EXPECT_THAT(block_.dense, ElementsAre(3, 4));
}

TEST_F(Csv, ReadsTabsQuotesAndByteOrderMarks) {
  Read(
      "\xef\xbb\xbf"
      "click\thour\tsite\r\n1\t2\t\"a\nb\"\r\n0\t\"3\"\tx\r\n",
      StrCat(kClicks, "delimiter: '\\\\t'"));
  EXPECT_THAT(block_.labels, ElementsAre(1, 0));
  EXPECT_THAT(block_.dense, ElementsAre(2, 3));
}

TEST_F(Csv, KnowsLabelsAndMissingValuesByTheirLists) {
  Read("y,h,s\nyes,NA,NA\nno,?,?\n >50K ,1,q\n",
       R"(label { column: "y" positive: "yes" positive: ">50K" negative: "no" } missing: "NA"
          missing: "?" dense { column: "h" missing: -1 } categorical { column: "s" rows: 100 })");
  EXPECT_THAT(block_.labels, ElementsAre(1, 0, 1));
  EXPECT_THAT(block_.dense, ElementsAre(-1, -1, 1));
  EXPECT_EQ(block_.ids[0], 0u);
  EXPECT_EQ(block_.ids[1], 0u);
  EXPECT_NE(block_.ids[2], 0u);
}

TEST_F(Csv, SplitsListsOfValues) {
  Read("click,tags,site\n1,a|b|a,x\n0,,y\n1,c,z\n",
       R"(label { column: "click" } categorical { column: "tags" rows: 1000 separator: "|" }
          categorical { column: "site" rows: 1000 })");
  EXPECT_THAT(block_.id_ends, ElementsAre(3, 4, 4, 5, 6, 7));
  ASSERT_THAT(block_.ids, SizeIs(7));
  EXPECT_EQ(block_.ids[0], block_.ids[2]);
  EXPECT_NE(block_.ids[0], block_.ids[1]);
}

TEST_F(Csv, ANumberTooSmallForADoubleIsZero) {
  Read("click,a\n1,1e-400\n0,-1e-400\n1,1e-50\n0,+3.4e38\n",
       R"(label { column: "click" } dense { column: "a" })");
  EXPECT_THAT(block_.dense, ElementsAre(0.0f, 0.0f, 0.0f, 3.4e38f));
}

TEST_F(Csv, TransformsNumbers) {
  Read("click,a\n1,-5\n0,3\n1,1e6\n",
       R"(label { column: "click" } dense { column: "a" log1p { high: 100 } })");
  EXPECT_THAT(block_.dense, ElementsAre(0.0f, std::log(4.0f), std::log(101.0f)));
}

TEST_F(Csv, StandardisesByTheFirstChunk) {
  std::string text = "click,a,b\n";
  for (int i = 0; i < 1000; ++i) text += StrCat("1,", i, ",7\n");
  text += "1,1999,9\n";
  const std::string csv = R"(label { column: "click" } dense { column: "a" standardise {} }
                             dense { column: "b" standardise {} })";
  Read(text, csv);
  double sum = 0, squares = 0;
  for (size_t i = 0; i < 2000; i += 2) {
    sum += block_.dense[i];
    squares += block_.dense[i] * block_.dense[i];
    EXPECT_EQ(block_.dense[i + 1], 0.0f) << "it never changes";
  }
  EXPECT_NEAR(sum, 0, 1e-3);
  EXPECT_NEAR(squares / 1000, 1, 1e-5);
  Read(text, csv, 1);
  EXPECT_NEAR(block_.dense[0], (1999 - 499.5) / std::sqrt((1e6 - 1) / 12), 1e-4);
}

TEST_F(Csv, GivesRareValuesOneId) {
  Read("click,s\n1,often\n0,often\n1,rare\n1,\n",
       R"(label { column: "click" } categorical { column: "s" rows: 100 minimum_frequency: 2 })");
  EXPECT_EQ(block_.ids[0], block_.ids[1]);
  EXPECT_GE(block_.ids[0], 2u);
  EXPECT_EQ(block_.ids[2], 1u);
  EXPECT_EQ(block_.ids[3], 0u);
}

TEST_F(Csv, EncodesIntegersAndBuckets) {
  Read("click,n,b\n1,0,-1\n0,98,0\n1,99,5\n1,-1,1e9\n0,18446744073709551615,0\n",
       R"(label { column: "click" } categorical { column: "n" rows: 100 integer {} }
          categorical { column: "b" rows: 4 bucketise { boundaries: [0, 10] } })");
  EXPECT_THAT(block_.ids, ElementsAre(1, 1, 99, 2, 1, 2, testing::Ge(1u), 3, testing::Ge(1u), 2));
}

TEST_F(Csv, TellsWhatIsWrongWithARow) {
  const std::string header = "click,hour,site\n";
  EXPECT_THAT(
      Problem(header + "2,1,x\n", kClicks),
      HasSubstr("f.csv:2: the label is '2', none of 1 (positive) or 0 (negative); say what it "
                "means in data.csv.label.positive or data.csv.label.negative"));
  EXPECT_THAT(Problem(header + "1,noon,x\n", kClicks),
              HasSubstr(":2: column hour is 'noon', not a number"));
  const auto hour = [&](const std::string& text) {
    return Problem(header + "1," + text + ",x\n", kClicks);
  };
  for (const char* word : {"nan", "NaN", "inf", "-Infinity"}) {
    EXPECT_THAT(hour(word), HasSubstr(StrCat("column hour is '", word,
                                             "', not a finite number; "
                                             "where it stands for a missing value, name it in "
                                             "data.csv.missing")));
  }
  for (const char* large : {"1e39", "-3.5e38", "1e400"}) {
    EXPECT_THAT(hour(large), HasSubstr("not a number that a float can hold, up to 3.4e38"));
  }
  EXPECT_THAT(hour("0x1A"), HasSubstr("'0x1A', not a decimal number"));
  for (const char* grouped : {"\"1,234\"", "1_234", "1 234", "\"3,5\"", "1'000"}) {
    EXPECT_THAT(hour(grouped), HasSubstr("not a number with a point before its decimals and "
                                         "nothing else between its digits"));
  }
  EXPECT_THAT(Problem(header + "1,2\n", kClicks), HasSubstr("3 fields expected, found 2"));
  EXPECT_THAT(Problem(header + "1,2,\xff\n", kClicks), HasSubstr("the line is not UTF-8"));
  EXPECT_THAT(Problem(header + "1,2,\"x\n", kClicks),
              HasSubstr("a quote is opened and not closed; where quotes are characters like any "
                        "other, set data.csv.quotes to NONE"));
  EXPECT_THAT(
      Problem(header + "1,2,\"x\"y\n", kClicks),
      HasSubstr("text follows a closing quote; where quotes are characters like any other"));
}

TEST_F(Csv, CountsTheRowsThatAStrayQuoteHides) {
  std::string text = "click,hour,site\n";
  for (int line = 2; line <= 100; ++line) {
    text += line == 10 ? "1,1,\"x\n" : line == 40 ? "1,1,\",b\"\n" : "0,2,y\n";
  }
  const ChunkResult result = Read(text, kClicks);
  EXPECT_THAT(result.problems, ElementsAre(HasSubstr("f.csv:10-40: 3 fields expected, found 4")));
  EXPECT_THAT(block_.malformed, SizeIs(1));
  EXPECT_EQ(result.hidden_line_count, 30);
  EXPECT_EQ(result.line_count + result.hidden_line_count, 99);
  EXPECT_EQ(block_.row_count(), 68);
}

// Of a title that begins with a quote, and another that ends in one.
constexpr const char* kTitles =
    "click\thour\ttitle\n1\t1\tplain\n0\t2\t\"open\n1\t3\tx\n0\t4\tend\" y\n1\t5\tx\n0\t6\t\"a\" "
    "b\n";
constexpr const char* kHours =
    R"(delimiter: "\\t" label { column: "click" } dense { column: "hour" } )";

TEST_F(Csv, AStrayQuoteSpoilsNoRowBelowIt) {
  const ChunkResult result = Read(kTitles, kHours);
  EXPECT_THAT(block_.dense, ElementsAre(1, 3, 4, 5));
  EXPECT_THAT(result.problems, ElementsAre(HasSubstr("f.csv:3: a quote is opened and not closed"),
                                           HasSubstr("f.csv:7: text follows a closing quote")));
  EXPECT_EQ(result.hidden_line_count, 0);
}

TEST_F(Csv, QuotesAreTextWhereTheyDoNotCount) {
  const ChunkResult result = Read(kTitles, std::string(kHours) + "quotes: NONE");
  EXPECT_THAT(block_.dense, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(result.problems, IsEmpty());
}

TEST_F(Csv, ControlCharactersMayDelimit) {
  Read(
      "click\x01hour\n1\x01"
      "5\n",
      R"(delimiter: "\001" label { column: "click" } dense { column: "hour" })");
  EXPECT_THAT(block_.dense, ElementsAre(5));
}

TEST_F(Csv, PassesOverBlankLines) {
  const ChunkResult result = Read("click,hour,site\n\n1,1,a\n\r\n0,2,b\n\n", kClicks);
  EXPECT_THAT(block_.dense, ElementsAre(1, 2));
  EXPECT_THAT(block_.malformed, IsEmpty());
  EXPECT_EQ(result.line_count, 5);
}

TEST_F(Csv, ABlankLineOfASingleColumnIsAMissingValue) {
  v1::Config config = Config(Write("f.csv", "hour\n3\n\n4\n"),
                             R"(label { column: "click" } dense { column: "hour" })");
  auto reader = MakeReader(config, {}, RowLabels::kOptional);
  ASSERT_TRUE(reader.ok()) << reader.status();
  ASSERT_TRUE((*reader)->ReadChunk({Split::kTrain, 0, 0, 0}, &block_).ok());
  EXPECT_THAT(block_.dense, ElementsAre(3, 0, 4));
}

TEST_F(Csv, ALabelIsALabelEvenWhereOtherColumnsCallItMissing) {
  v1::Config config = Config(Write("f.csv", "click,hour\n-1,-1\n1,2\n,3\n"),
                             R"(missing: "-1" missing: ""
                                label { column: "click" positive: "1" negative: "-1" }
                                dense { column: "hour" })");
  auto reader = MakeReader(config, {}, RowLabels::kOptional);
  ASSERT_TRUE(reader.ok()) << reader.status();
  ASSERT_TRUE((*reader)->ReadChunk({Split::kTrain, 0, 0, 0}, &block_).ok());
  EXPECT_THAT(block_.labels, ElementsAre(0, 1, ::testing::IsNan()));
}

TEST_F(Csv, ALabelThatIsNotKnownIsNoneWhereRowsAreScored) {
  v1::Config config = Config(Write("f.csv", "click,hour\n1,1\n?,2\n7,3\n0,noon\n0,4\n"),
                             R"(label { column: "click" } dense { column: "hour" })");
  auto reader = MakeReader(config, {}, RowLabels::kOptional);
  ASSERT_TRUE(reader.ok()) << reader.status();
  const auto result = (*reader)->ReadChunk({Split::kTrain, 0, 0, 0}, &block_);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(block_.labels, ElementsAre(1, ::testing::IsNan(), ::testing::IsNan(), 0));
  ASSERT_THAT(result->malformed_lines, SizeIs(1));
  EXPECT_EQ(result->malformed_lines[0].first, 5);
  EXPECT_EQ(result->malformed_lines[0].last, 5);
}

// As where the label's column is left out of rows to score, and columns have no names.
TEST_F(Csv, RowsWithoutALabelAreAsWideAsThoseLearnedFrom) {
  const std::string columns = R"(header: false label { column: "0" } dense { column: "1" })";
  const auto learned = LearnFromData(Config(Write("f.csv", "1,5,8\n0,6,9\n"), columns));
  ASSERT_TRUE(learned.ok()) << learned.status();
  const auto open = [&](const std::string& text, const std::string& of) {
    const v1::Config config = Config(Write("new.csv", text), of);
    auto reader = MakeReader(config, *learned, RowLabels::kOptional);
    if (!reader.ok()) return reader.status();
    return (*reader)->ReadChunk({Split::kTrain, 0, 0, 0}, &block_).status();
  };
  EXPECT_THAT(open("5,8\n6,9\n", columns).message(), HasSubstr("training had 3;"));
  EXPECT_TRUE(open(",5,8\n", columns).ok());
  EXPECT_THAT(block_.dense, ElementsAre(5));
  const std::string label_last = R"(header: false label { column: "2" } dense { column: "1" })";
  EXPECT_TRUE(open("5,8\n", label_last).ok());
  EXPECT_THAT(block_.dense, ElementsAre(8));
}

// As in prediction: a field more before a column makes it another.
TEST_F(Csv, EveryFileWithoutAHeaderIsAsWideAsTheFirst) {
  const std::string columns = R"(header: false label { column: "0" } dense { column: "1" })";
  v1::Config config = Config(Write("a.csv", "1,5,8\n0,6,9\n"), columns);
  const std::string same = Write("b.csv", "0,7,8\n"), wider = Write("wider.csv", "1,3,5,8\n"),
                    narrower = Write("narrower.csv", "1,5\n");
  config.mutable_data()->add_train(same);
  config.mutable_data()->add_test(same);
  EXPECT_TRUE(MakeReader(config).ok());
  for (const auto& [other, width] : {std::pair(wider, 4), std::pair(narrower, 2)}) {
    v1::Config train = config, test = config;
    train.mutable_data()->set_train(1, other);
    test.mutable_data()->set_test(0, other);
    const std::string told = StrCat(other, ": the first line has ", width,
                                    " fields, and those of training had 3; columns are told by "
                                    "their number");
    EXPECT_THAT(MakeReader(train).status().message(), HasSubstr("data.train[1]: " + told));
    EXPECT_THAT(MakeReader(test).status().message(), HasSubstr("data.test[0]: " + told));
  }
}

// By name, columns are found wherever they are.
TEST_F(Csv, EveryFileHasAHeaderOfItsOwn) {
  v1::Config config = Config(Write("a.csv", "click,hour,site\n1,5,x\n"), kClicks);
  config.mutable_data()->add_train(Write("b.csv", "more,site,click,hour\n?,x,0,7\n"));
  auto reader = MakeReader(config);
  ASSERT_TRUE(reader.ok()) << reader.status();
  ASSERT_TRUE((*reader)->ReadChunk({Split::kTrain, 0, 1, 0}, &block_).ok());
  EXPECT_THAT(block_.labels, ElementsAre(0));
  EXPECT_THAT(block_.dense, ElementsAre(7));
  config.mutable_data()->add_test(Write("c.csv", "click;hour;site\n1;5;x\n"));
  EXPECT_THAT(MakeReader(config).status().message(),
              HasSubstr("c.csv: data.csv.label names column 'click', which the file does not have; "
                        "it has click;hour;site, in one field: set data.csv { delimiter: \";\" }"));
}

TEST_F(Csv, RefusesAHeaderWithoutARow) {
  EXPECT_THAT(Open("click,hour,site\n", kClicks).message(),
              HasSubstr("f.csv has one line, a header, and no row below it"));
}

TEST_F(Csv, GoesOnBehindAnOpenQuoteAndCountsLinesOfTheFile) {
  const ChunkResult result =
      Read("click,hour,site\n1,1,\"a\nb\"\n1,2,\"x\n0,3,y\nz,4,z\n", kClicks);
  EXPECT_THAT(block_.dense, ElementsAre(1, 3));
  EXPECT_EQ(result.line_count, 4);
  ASSERT_THAT(result.problems, SizeIs(2));
  EXPECT_THAT(result.problems[0], HasSubstr("f.csv:4: a quote"));
  EXPECT_THAT(result.problems[1], HasSubstr("f.csv:6: the label is 'z'"));
}

TEST_F(Csv, RefusesAFileWithoutAColumn) {
  EXPECT_THAT(Open("click,hour\n1,2\n", kClicks).message(),
              HasSubstr("f.csv: data.csv.categorical names column 'site', which the file does not "
                        "have; it has click, hour"));
  EXPECT_THAT(Open("click,\"hour\nof day\"\n1,2\n", kClicks).message(),
              HasSubstr("it has click, hour?of day"))
      << "one line, whatever the names hold";
  EXPECT_THAT(Open("click,hour,site,hour\n1,2,x,3\n", kClicks).message(),
              HasSubstr("the header names 'hour' twice"));
  EXPECT_THAT(
      Open("0,1\n", R"(header: false label { column: "2" } dense { column: "1" })").message(),
      HasSubstr("names column 2, and the first line has 2 fields"));
}

}  // namespace
}  // namespace weir::data
