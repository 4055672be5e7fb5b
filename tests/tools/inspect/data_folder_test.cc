// What is said of a data folder that is as a server left it, and of records that no server writes.
#include <algorithm>

#include "common/base/strings.h"
#include "common/log/writer.h"
#include "tests/tools/inspect/inspect_support.h"

namespace weir::tools {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class DataFolderLooked : public InspectedServer {
 protected:
  // A log of this server with one more record, behind its start.
  Status InspectWith(v1::LogRecord record, Bytes body = {}) {
    files_.EndProcess();
    EXPECT_TRUE(files_.Remove(Segments().front().path).ok());
    v1::LogStart start;
    start.set_shard(shard_);
    {
      log::LogWriter writer({.files = files_, .folder = server::kData}, 1, start);
      std::vector<transport::Part> parts;
      if (!body.empty()) parts.emplace_back(std::move(body));
      writer.Append(std::move(record), std::move(parts));
      writer.Step();
    }
    return Inspect();
  }
};

TEST_F(DataFolderLooked, TellsWhoseItIsAndWhatARestartGoesOnFrom) {
  PushSome(5);
  Kill();
  ASSERT_TRUE(Inspect().ok());
  EXPECT_THAT(
      text_, AllOf(HasSubstr("/data: the data folder of a server\n"), HasSubstr("run         17\n"),
                   HasSubstr("shard       1 of 2\n"), HasSubstr("lives       1, epochs "),
                   HasSubstr("1 start, 5 step; life 1\n")));
  const auto bounds = Bounds(Segments()[0].path, 1);
  const size_t count = bounds.size() - 1;
  EXPECT_THAT(text_, AllOf(HasSubstr(StrCat(bounds.back(), " bytes, records 1 to ", count, ": ")),
                           HasSubstr(StrCat("a restart   goes on from ", count,
                                            " records, behind record ", count, "\n"))));
  EXPECT_THAT(text_, Not(HasSubstr("in use")));
}

TEST_F(DataFolderLooked, TellsEveryLife) {
  PushSome(2);
  Kill();
  Start();
  Kill();
  ASSERT_TRUE(Inspect().ok());
  EXPECT_THAT(text_, AllOf(HasSubstr("lives       2, epochs "), HasSubstr("1 start; life 2\n")));
}

TEST_F(DataFolderLooked, ListsRecords) {
  PushSome(3);
  Kill();
  ASSERT_TRUE(Inspect({.lists_records = true}).ok());
  const auto bounds = Bounds(Segments()[0].path, 1);
  const size_t last = bounds.size() - 1;
  EXPECT_THAT(text_, AllOf(HasSubstr("\n1 start shard 1 life 1, "),
                           HasSubstr(" hello trainer 0 stage 0 incarnation 1, "),
                           HasSubstr(StrCat("\n", last,
                                            " step trainer 0 stage 0 incarnation 1 sequence 3, ",
                                            bounds[last] - bounds[last - 1], " bytes\n"))));
}

TEST_F(DataFolderLooked, MayBeInUse) {
  PushSome(1);
  ASSERT_TRUE(Inspect({.seems_used = true}).ok());
  EXPECT_THAT(text_, HasSubstr("it may be in use"));
}

// The life that did not get further than to make its file has said nothing.
TEST_F(DataFolderLooked, TellsALifeThatEndedBeforeItBegan) {
  PushSome(1);
  Kill();
  const size_t count = Bounds(Segments()[0].path, 1).size() - 1;
  ASSERT_TRUE(files_.Create(log::SegmentPath(server::kData, count + 1)).ok());
  ASSERT_TRUE(Inspect().ok());
  EXPECT_THAT(text_, AllOf(HasSubstr("0 bytes, no whole record\n"),
                           HasSubstr(StrCat("behind record ", count, "\n"))));
}

TEST_F(DataFolderLooked, TellsASnapshotThatWasNotFinished) {
  PushSome(1);
  Kill();
  ASSERT_TRUE(files_.Create(log::PartialPath(log::SnapshotPath(server::kData, 3))).ok());
  ASSERT_TRUE(Inspect().ok());
  EXPECT_THAT(text_, HasSubstr(".weir.partial  was not finished; the server removes it\n"));
}

TEST_F(DataFolderLooked, IsOfOneServer) {
  PushSome(1);
  Kill();
  const size_t count = Bounds(Segments()[0].path, 1).size() - 1;
  v1::LogStart start;
  start.set_shard(7);
  log::LogWriter({.files = files_, .folder = server::kData}, count + 1, start).Step();
  EXPECT_THAT(Inspect().message(), HasSubstr("it is of shard 7, what is before it of 1"));
}

TEST_F(DataFolderLooked, RecordsThatNoServerTakes) {
  EXPECT_THAT(InspectWith({}).message(), HasSubstr("a kind that this release does not know"));
  v1::LogRecord step;
  step.mutable_step();
  EXPECT_THAT(InspectWith(step).message(), HasSubstr("record 2: a step of no push"));
  step.mutable_step()->add_pushes()->set_body_bytes(10);
  EXPECT_THAT(InspectWith(step, Bytes(9)).message(), HasSubstr("without all of its frames"));
  EXPECT_THAT(InspectWith(step, Bytes(11)).message(), HasSubstr("frames of no push"));
  EXPECT_THAT(InspectWith(step, Bytes(10)).message(), HasSubstr("record 2: "));
  EXPECT_THAT(text_, HasSubstr("a restart   is refused: "));
  v1::LogRecord hello;
  hello.mutable_hello();
  EXPECT_TRUE(InspectWith(hello).ok()) << text_;
}

TEST_F(DataFolderLooked, OfAFolderOfAnotherKind) {
  Kill();
  for (const log::Segment& file : Segments()) ASSERT_TRUE(files_.Remove(file.path).ok());
  ASSERT_TRUE(files_.Create("/data/notes").ok());
  const Status neither = Inspect();
  EXPECT_EQ(neither.code(), StatusCode::kNotFound);
  EXPECT_THAT(neither.message(),
              HasSubstr("/data is neither the data folder of a server nor a saved model"));
}

}  // namespace
}  // namespace weir::tools
