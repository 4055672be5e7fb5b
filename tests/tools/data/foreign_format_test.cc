#include "tools/data/foreign_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/tools/data/inspect_support.h"

namespace weir::tools {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class ForeignFormat : public InspectTest {};

TEST_F(ForeignFormat, JsonLinesAreNamedWithTheirMembers) {
  const std::string path = Write("a.json",
                                 "{\"label\": 1, \"user\": {\"id\": 3}, \"t\\\"x\": \"a:b\"}\n"
                                 "{\"label\": 0, \"user\": {\"id\": 4}, \"t\\\"x\": \"\"}\n");
  EXPECT_THAT(
      Refused(path),
      AllOf(HasSubstr("has JSON lines, which are not read; to make a file that reads: jq -rn "
                      "'[\"label\",\"user\",\"t\\\"x\"], (inputs | [.\"label\",.\"user\","),
            HasSubstr("]) | @csv' " + path + " > " + Path("a.fixed.csv"))));
}

TEST_F(ForeignFormat, VowpalWabbitIsNamed) {
  for (const char* text : {"1 |ns a:1 b\n-1 |ns c d:0.5\n", "1 2.0 'tag|a x y |b z\n-1 |a x |b z\n",
                           "1 | a b:2\n-1 | c d\n1 | a c\n"}) {
    EXPECT_THAT(RefusedText(text), HasSubstr("lines of Vowpal Wabbit")) << text;
  }
}

TEST_F(ForeignFormat, TwoColonsAreNoDelimiter) {
  const std::string path = Write("ratings.dat", "1::1193::5::978300760\n1::661::3::978302109\n");
  EXPECT_THAT(Refused(path),
              HasSubstr("sed 's/::/\\t/g' " + path + " > " + Path("ratings.fixed.tsv")));
}

TEST_F(ForeignFormat, RunsOfSpacesAreNoDelimiter) {
  EXPECT_THAT(
      RefusedText(" 1   2.50  a\n 0  12.50  bb\n"),
      HasSubstr("fields between runs of spaces, and a delimiter is one character; to make"));
}

TEST_F(ForeignFormat, AJsonArrayIsTakenApart) {
  for (const char* text : {"[{\"label\": 1},\n {\"label\": 0}]\n", "[\n  {\"label\": 1},\n {}]\n",
                           "[{\"label\": 1}, {\"label\": 0}]"}) {
    const std::string path = Write("a.json", text);
    EXPECT_THAT(Refused(path), HasSubstr("has a JSON array, which is not read; make a line of each "
                                         "object, then CSV of those; to make a file that reads: jq "
                                         "-c '.[]' " +
                                         path + " > " + Path("a.fixed.jsonl")));
  }
}

TEST_F(ForeignFormat, FieldsInBracketsAreNoArray) {
  for (const char* text :
       {"[{\"id\":3}]\t12\t1\n[{\"id\":4}]\t13\t0\n", "[{x}] text,label\na,1\nb,0\n",
        "[ [0],0,0\n[ [1],1,1\n", "[[1 2] 3],b,1\n[[1 2] 4],c,0\n"}) {
    EXPECT_TRUE(RefuseForeignFormat(Write("f", text)).ok()) << text;
  }
}

TEST_F(ForeignFormat, CarriageReturnsAloneEndNoLine) {
  EXPECT_TRUE(RefuseForeignFormat(Write("q.csv", "1,\"a\rb\rc\",2\n")).ok());
  std::string large = "label,x\r";
  while (large.size() < 3'000'000) large += "1,2\r0,3\r";
  EXPECT_THAT(Refused(Write("large.csv", large)),
              AllOf(HasSubstr("line is longer than"), HasSubstr("sed 's/\\r/\\n/g' ")));
  const std::string path = Write("a.csv", "label,x\r1,2\r0,3\r");
  EXPECT_THAT(Refused(path), HasSubstr("lines that end with a carriage return alone"));
  EXPECT_THAT(Refused(path), HasSubstr("sed 's/\\r/\\n/g' " + path));
}

TEST_F(ForeignFormat, PackedFilesArePackedAgain) {
  const std::string path = WriteGzip("r.dat.gz", "1::2::3\n0::3::4\n");
  EXPECT_THAT(Refused(path),
              HasSubstr("zcat " + path + " | sed 's/::/\\t/g' | gzip > " + Path("r.fixed.tsv.gz")));
}

TEST_F(ForeignFormat, NothingElseIsTakenForOne) {
  for (const char* text :
       {"label|b|c\n1|2.5|x\n0|3.5|y\n", "label | b | c\n1 | 2 | x\n0 | 3 | y\n",
        "label,ip\n1,::1\n0,fe80::1:2\n1,fe80::1:3\n", "label  b,c\n1  3,4\n0  3,5\n",
        "label,json\n1,\"{\"\"a\"\": 1}\"\n0,\"{\"\"a\"\": 2}\"\n"}) {
    EXPECT_TRUE(RefuseForeignFormat(Write("f", text)).ok()) << text;
  }
}

}  // namespace
}  // namespace weir::tools
