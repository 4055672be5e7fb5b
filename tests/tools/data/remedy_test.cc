#include "tools/data/remedy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/tools/data/inspect_support.h"

namespace weir::tools {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// The commands that refusals name do what they say.
class Remedy : public InspectTest {};

TEST_F(Remedy, MakesReadableFilesOfUnreadableOnes) {
  const char* const texts[] = {
      "label,a,a\n1,2.5,x\n0,1.5,y\n1,2.7,x\n",                // a name twice
      "label,user,x\n1,a,0.5,\n0,b,0.1,\n1,a,0.7,\n",          // rows end in a delimiter
      "label,user,x\r\n1,a,0.5,\r\n0,b,0.1,\r\n1,a,0.7,\r\n",  // and Windows' newlines
      "label\tx\nr1\t1\t0.5\nr2\t0\t0.1\n",                    // rows begin with a name
      "label,x,\n1,0.5\n0,0.1\n1,0.7\n",                       // the header ends in a delimiter
      "1::1193::0.5\n0::661::0.7\n1::661::0.9\n",              // two colons
      " 1   2.50  a\n 0  12.50  bb\n 1   9.50  a\n",           // runs of spaces
      "1 |ns a:1 b\n0 |ns c d:0.5\n1 |ns a c\n",               // Vowpal Wabbit
      "1 qid:3 1:0.5\n0 qid:3 2:1\n",                          // groups to be ranked
      "1 1:0.5 3:nan 4:1\n0 2:-Inf 5:1\n",                     // no numbers
  };
  for (const char* text : texts) {
    EXPECT_THAT(InspectedOnceMended(Write("a file.txt", text)),
                AllOf(HasSubstr("with it none of "), HasSubstr(" lines is malformed")))
        << text;
  }
}

TEST_F(Remedy, PacksWhatWasPacked) {
  EXPECT_THAT(InspectedOnceMended(WriteGzip("r.dat.gz", "1::2::0.3\n0::3::0.4\n1::2::0.4\n")),
              HasSubstr("with it none of 3 lines is malformed"));
}

TEST_F(Remedy, TakesNamesApart) {
  const FileName name("a.b/clicks.2014.csv.gz");
  EXPECT_EQ(name.stem, "a.b/clicks.2014");
  EXPECT_EQ(name.type, ".csv");
  EXPECT_EQ(name.packing, ".gz");
  EXPECT_EQ(FileName("x/plain").stem, "x/plain");
}

}  // namespace
}  // namespace weir::tools
