#include "tools/data/csv_proposal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "common/base/strings.h"
#include "tests/tools/data/inspect_support.h"

namespace weir::tools {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Comma-separated values, as inspect sees them.
class InspectCsv : public InspectTest {};

TEST_F(InspectCsv, TakesAHeaderWithOneColumnWithoutAName) {
  const std::string printed = InspectedText(",age,paid\n0,31,1\n1,28,0\n2,40,1\n");
  EXPECT_THAT(printed, AllOf(HasSubstr("delimiter ',', with a header"), HasSubstr("(no name"),
                             HasSubstr("column: \"age\""), Not(HasSubstr("column: \"\""))));
  EXPECT_THAT(InspectedText("age,paid,\n31,1,\n28,0,\n"),
              AllOf(HasSubstr("with a header"), HasSubstr("column: \"age\"")));
}

TEST_F(InspectCsv, TakesNumbersAndDoubledNamesForAHeader) {
  EXPECT_THAT(InspectedText("label,user,2019\n1,u1,0.5\n0,u2,0.1\n1,u1,0.7\n"),
              AllOf(HasSubstr("with a header"), HasSubstr("column: \"2019\"")));
  EXPECT_THAT(InspectedText("label,2018,2019\n1,5.5,0.5\n0,6.5,0.1\n1,7.5,0.7\n"),
              HasSubstr("with a header"));
  EXPECT_THAT(InspectedText("1,u1,0.5\n0,u2,0.1\n1,u1,0.7\n"), HasSubstr("without a header"));
  EXPECT_THAT(InspectedText("u1,red,y\nu1,blue,n\nu2,red,n\n"), HasSubstr("without a header"));
  EXPECT_THAT(InspectedText("user,colour,paid\nu1,blue,n\nu2,red,y\n"), HasSubstr("with a header"));
}

TEST_F(InspectCsv, TellsWhatTheReaderWouldSayOfAHeaderAndWhatToDo) {
  const std::string twice = Write("dup.csv", "label,a,a\n1,2.5,x\n0,1.5,y\n1,2.7,x\n");
  EXPECT_THAT(
      Refused(twice),
      AllOf(HasSubstr("the header names 'a' twice; rename one of the columns"),
            HasSubstr("sed '1s/.*/label,a,a_2/' " + twice + " > " + Path("dup.fixed.csv"))));
  EXPECT_THAT(RefusedText("label,,\n1,2.5,x\n0,1.5,y\n"),
              HasSubstr("sed '1s/.*/label,,column_2/'"));
}

TEST_F(InspectCsv, TellsWhyRowsAreWiderOrNarrowerThanTheirHeader) {
  EXPECT_THAT(
      RefusedText("label,user,x\n1,a,0.5,\n0,b,0.1,\n1,a,0.7,\n"),
      AllOf(HasSubstr("the header names 3 columns, and most rows have 4 fields: rows end in a "
                      "delimiter, and the header does not"),
            HasSubstr("sed '1s/\\r\\?$/,/'")));
  EXPECT_THAT(RefusedText("label\tx\nr1\t1\t0.5\nr2\t0\t0.1\n"),
              AllOf(HasSubstr("if it is the first column that lacks a name"),
                    HasSubstr("sed '1s/^/row\\t/'")));
  EXPECT_THAT(RefusedText("label,x,\n1,0.5\n0,0.1\n1,0.7\n"),
              AllOf(HasSubstr("the header ends in a delimiter, and rows do not"),
                    HasSubstr("sed '1s/,\\r\\?$//'")));
  EXPECT_THAT(RefusedText("label,x,y,z\n1,0.5\n0,0.1\n1,0.7\n"),
              HasSubstr("give the header a name for each field"));
}

TEST_F(InspectCsv, ProposesThatQuotesAreTextWhereTheyDoNotPair) {
  std::string text = "label\tuser\ttitle\tx\n";
  for (int i = 0; i < 8; ++i) {
    const char* title = i == 1 ? "\"open" : i == 5 ? "end\" x" : "plain";
    text += StrCat(i % 2, "\tu", i, "\t", title, "\t0.", i, "\n");
  }
  EXPECT_THAT(InspectedText(text),
              AllOf(HasSubstr("quotes do not pair: characters like any other"),
                    HasSubstr("records     8 looked at, 0 of another width"),
                    HasSubstr("quotes: NONE"), HasSubstr("with it none of 8 lines is malformed")));
}

TEST_F(InspectCsv, LeavesQuotesThatPairAlone) {
  const std::string text = "label,title,x\n1,\"a,b\nc\",1.5\n0,\"say \"\"d\"\"\",2.5\n1,e,3.5\n";
  EXPECT_THAT(InspectedText(text),
              AllOf(HasSubstr("records     3 looked at, 0 of another width"),
                    Not(HasSubstr("quotes")), HasSubstr("with it none of 3 lines is malformed")));
}

TEST_F(InspectCsv, CountsWhatTheReaderCounts) {
  const std::string text = Lines(50, [](int i) {
    return i == 0 ? std::string("label,x") : StrCat(i % 2, ",0.", i, i == 9 ? ",more" : "");
  });
  EXPECT_THAT(InspectedText(text),
              AllOf(HasSubstr("records     49 looked at, 1 of another width"),
                    HasSubstr("with it 1 of 49 lines is malformed, the first: " + Path("f") +
                              ":10: 2 fields expected, found 3\n"),
                    HasSubstr("max_malformed_share: 0.05")));
}

TEST_F(InspectCsv, TakesSpacesForADelimiterOnlyWhereThereIsNoOther) {
  EXPECT_THAT(InspectedText("a , b ,label\n1 , 2 ,0\n3 , 4 ,1\n"),
              HasSubstr("delimiter ',', with a header"));
  EXPECT_THAT(InspectedText("a b label\n1 2 0\n3 4 1\n"),
              HasSubstr("delimiter ' ', with a header"));
}

TEST_F(InspectCsv, TakesHivesDelimiter) {
  EXPECT_THAT(InspectedText("1\x01u1\x01"
                            "0.5\n0\x01u2\x01"
                            "0.1\n1\x01u1\x01"
                            "0.7\n"),
              AllOf(HasSubstr("delimiter ^A, without a header"), HasSubstr("delimiter: \"\\001\""),
                    HasSubstr("with it none of 3 lines is malformed")));
}

TEST_F(InspectCsv, TakesTimesOfDayForNoLibsvm) {
  for (const char* text : {"0,2014-10-05 10:20:30,5,7\n1,2014-10-05 10:20:31,6,8\n",
                           "0,2014-10-05 10:20,5,7\n1,2014-10-06 11:20,6,8\n",
                           "y,ts,x\n0,2014-10-05 10:20,1\n1,2014-10-06 11:20,2\n"}) {
    EXPECT_THAT(InspectedText(text), HasSubstr("format      comma-separated")) << text;
  }
}

TEST_F(InspectCsv, TakesTheTypesThatNamesGive) {
  const std::string text = Lines(100, [](int i) {
    return i == 0 ? std::string("user_id:token\titem_id:token\trating:float\ttags:token_seq")
                  : StrCat(i * 7 % 50, "\t", i % 40, "\t", 1 + i % 5, "\ta", i % 3, " b", i % 4);
  });
  EXPECT_THAT(InspectedText(text),
              AllOf(HasSubstr("with a header; types stand behind the names, and are taken"),
                    HasSubstr("label { column: \"rating:float\" positive: [\"4\", \"5\"] negative: "
                              "[\"1\", \"2\", \"3\"] }"),
                    HasSubstr("{ column: \"user_id:token\" rows: 1000 integer"),
                    HasSubstr("{ column: \"tags:token_seq\" rows: 1000 separator: \" \" }")));
}

TEST_F(InspectCsv, ARatingIsALabelWhoseUpperEndIsPositive) {
  const std::string text = Lines(60, [](int i) {
    return i == 0 ? std::string("userId,movieId,rating,timestamp")
                  : StrCat(i % 9, ",", i % 7, ",", 1 + i % 5, ",", 978'300'760 + 60 * i);
  });
  EXPECT_THAT(
      InspectedText(text),
      AllOf(HasSubstr("label       rating: its name says so; positive is 4, 5, the upper end "
                      "of a scale from 1 to 5; move the border if you mean another"),
            HasSubstr("timestamp: 59 values"), Not(HasSubstr("column: \"timestamp\""))));
}

TEST_F(InspectCsv, FindsTheLabelByItsNameOrPlaceAndSaysSo) {
  EXPECT_THAT(InspectedText("sex,click,x\nm,0,1.5\nf,1,2.5\nm,0,3.5\n"),
              HasSubstr("label       click: it has two values, and its name says so"));
  EXPECT_THAT(
      InspectedText("a,x,b\nm,1.5,no\nf,2.5,yes\nm,3.5,no\n"),
      HasSubstr("label       b: it is the last column, and has two values; positive is yes"));
  EXPECT_THAT(InspectedText("x,b,y1\n1.5,no,5.1\n2.5,yes,5.2\n3.5,no,5.3\n"),
              HasSubstr("label       b: a guess: it is the first column with two values"));
  EXPECT_THAT(RefusedText("x,y1\n1.5,5.1\n2.5,5.2\n3.5,5.3\n"),
              HasSubstr("name the one to predict with --label=COLUMN"));
}

TEST_F(InspectCsv, TakesTheLabelThatIsNamed) {
  const std::string path = Write("f", "sex,click,x\nm,0,1.5\nf,1,2.5\nm,0,3.5\n");
  std::ostringstream out;
  ASSERT_TRUE(Inspect({.path = path, .label = "sex"}, out).ok());
  EXPECT_THAT(out.str(),
              HasSubstr("label { column: \"sex\" positive: [\"f\"] negative: [\"m\"] }"));
  EXPECT_THAT(Inspect({.path = path, .label = "age"}, out).message(),
              HasSubstr("--label=age is no column of " + path + "; it has sex, click, x"));
  EXPECT_THAT(InspectedText("label,x\n1,0.5\n2,0.1\n1,0.7\n"),
              HasSubstr("positive: [\"2\"] negative: [\"1\"]"));
}

TEST_F(InspectCsv, OtherFormatsHaveNoColumnToName) {
  std::ostringstream out;
  EXPECT_THAT(Inspect({.path = Write("f", "1 3:1\n0 4:1\n"), .label = "x"}, out).message(),
              HasSubstr("is libsvm, whose label comes first; leave it out"));
  EXPECT_EQ(Inspect({.path = Write("g", data::CriteoLines(0, 9)), .label = "x"}, out).code(),
            StatusCode::kInvalidConfig);
}

TEST_F(InspectCsv, MarkersOfMissingValuesArePartOfTheConfig) {
  EXPECT_THAT(InspectedText("label,x\n1,2.5\n0,NULL\n1,?\n0,1.5\n"),
              AllOf(HasSubstr("missing: \"?\""), HasSubstr("missing: \"NULL\""),
                    HasSubstr("x: 2 values, numbers from 1.5 to 2.5, 2 missing; dense")));
}

}  // namespace
}  // namespace weir::tools
