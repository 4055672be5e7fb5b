#include "worker/data/line_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/base/random.h"
#include "tests/worker/data/data_files.h"

namespace weir::data {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

class LineReaderTest : public DataFilesTest {
 protected:
  static std::unique_ptr<LineReader> Open(const std::string& path) {
    auto reader = LineReader::Open(path);
    EXPECT_TRUE(reader.ok()) << reader.status();
    return reader.ok() ? *std::move(reader) : nullptr;
  }

  static std::vector<std::string> AllLines(const std::string& path) {
    const auto reader = Open(path);
    std::vector<std::string> lines;
    Line line;
    for (;;) {
      const auto there = reader->Next(&line);
      EXPECT_TRUE(there.ok()) << there.status();
      if (!there.ok() || !*there) return lines;
      lines.push_back(line.too_long ? "(too long)" : std::string(line.text));
    }
  }

  // The error that reading the file to its end meets.
  static Status ReadError(const std::string& path) {
    auto reader = LineReader::Open(path);
    if (!reader.ok()) return reader.status();
    Line line;
    for (;;) {
      const auto there = (*reader)->Next(&line);
      if (!there.ok()) return there.status();
      if (!*there) return OkStatus();
    }
  }
};

// Text that hardly compresses, so that gzip members are as long as it.
std::string NoisyLines(int count) {
  RandomStream random(1);
  std::string text;
  for (int i = 0; i < count; ++i) text += StrCat(random.Next(), random.Next(), "\n");
  return text;
}

TEST_F(LineReaderTest, ReadsPlainAndCompressedAlikeWhateverTheName) {
  const std::string text = "a\tb\n\nccc\n";
  for (const std::string& path :
       {Write("plain", text), Write("plain.gz", text), WriteGzip("zipped", text)}) {
    EXPECT_THAT(AllLines(path), ElementsAre("a\tb", "", "ccc")) << path;
  }
}

TEST_F(LineReaderTest, ReadsGzipMembersInARowAsOneFile) {
  WriteGzip("two.gz", "a\nb");
  EXPECT_THAT(AllLines(WriteGzip("two.gz", "c\nd\n")), ElementsAre("a", "bc", "d"));
}

TEST_F(LineReaderTest, PassesOverZerosBehindTheLastGzipMember) {
  const std::string path = WriteGzip("f", "a\nb\n");
  std::ofstream(path, std::ios::app | std::ios::binary) << std::string(100'000, '\0');
  EXPECT_THAT(AllLines(path), ElementsAre("a", "b"));
}

TEST_F(LineReaderTest, WhatFollowsAGzipMemberAndIsNoneIsAnError) {
  const std::string path = WriteGzip("garbage.gz", "a\nb\n");
  std::ofstream(path, std::ios::app | std::ios::binary) << "not gzip at all";
  EXPECT_THAT(ReadError(path).message(), AllOf(HasSubstr(path), HasSubstr("damaged")));
}

TEST_F(LineReaderTest, ReadsZstdFramesInARowAsOneFile) {
  WriteZstd("two.zst", "a\nb");
  EXPECT_THAT(AllLines(WriteZstd("two.zst", "c\nd\n")), ElementsAre("a", "bc", "d"));
  const std::string text = NoisyLines(50'000);
  std::string joined;
  for (const std::string& line : AllLines(WriteZstd("long", text))) joined += line + "\n";
  EXPECT_TRUE(joined == text);
}

// As pzstd writes them.
TEST_F(LineReaderTest, ReadsZstdFilesThatBeginWithASkippableFrame) {
  const std::string path = Path("p.zst");
  std::ofstream(path, std::ios::binary) << std::string("\x5e\x2a\x4d\x18\x04\0\0\0abcd", 12);
  WriteZstd("p.zst", "a\nb\n");
  EXPECT_THAT(AllLines(path), ElementsAre("a", "b"));
}

// An unpacker may have taken all of the file and still hold text that found no room.
TEST_F(LineReaderTest, GetsAllOfWhatCompressesToNearlyNothing) {
  for (const size_t first_lines : {1u, 25'000u, 50'000u, 65'535u}) {
    std::string first, second;
    for (size_t i = 0; i < first_lines; ++i) first += "x\n";
    for (size_t i = 0; i < 200'000; ++i) second += "y\n";
    const std::string zstd = StrCat("zstd", first_lines), gzip = StrCat("gzip", first_lines);
    WriteZstd(zstd, first);
    WriteGzip(gzip, first);
    EXPECT_EQ(AllLines(WriteZstd(zstd, second)).size(), first_lines + 200'000);
    EXPECT_EQ(AllLines(WriteGzip(gzip, second)).size(), first_lines + 200'000);
  }
}

TEST_F(LineReaderTest, TellsADamagedOrTruncatedZstdFile) {
  const std::string path = WriteZstd("f.zst", NoisyLines(2'000));
  const auto size = std::filesystem::file_size(path);
  std::filesystem::resize_file(path, size - 1);
  EXPECT_THAT(ReadError(path).message(), AllOf(HasSubstr(path), HasSubstr("ends early")));
  const std::string garbage = WriteZstd("g.zst", "a\nb\n");
  std::ofstream(garbage, std::ios::app | std::ios::binary) << "not zstd at all";
  EXPECT_THAT(ReadError(garbage).message(), AllOf(HasSubstr(garbage), HasSubstr("damaged")));
}

TEST_F(LineReaderTest, AByteOrderMarkAloneIsAnEmptyFile) {
  EXPECT_THAT(ReadError(Write("f", "\xef\xbb\xbf")).message(), HasSubstr("is empty"));
}

TEST_F(LineReaderTest, PassesOverAByteOrderMark) {
  EXPECT_THAT(AllLines(Write("f",
                             "\xef\xbb\xbf"
                             "a\nb\n")),
              ElementsAre("a", "b"));
}

// Lines where quotes count: "first text line: text", and '!' before those with an open quote.
class QuotedLines : public LineReaderTest {
 protected:
  std::vector<std::string> Lines(const std::string& text) {
    const auto reader = LineReader::Open(Write("q", text), QuoteScanner(','));
    EXPECT_TRUE(reader.ok()) << reader.status();
    std::vector<std::string> lines;
    Line line;
    while (*(*reader)->Next(&line)) {
      lines.push_back(StrCat((*reader)->first_text_line(), line.open_quote ? "!" : ":", " ",
                             line.too_long ? "(too long)" : line.text));
    }
    EXPECT_EQ((*reader)->line_count(), std::ssize(lines));
    const auto skipping = LineReader::Open(Path("q"), QuoteScanner(','));
    EXPECT_EQ(*(*skipping)->Skip(1'000'000), std::ssize(lines)) << "Skip counts the same lines";
    return lines;
  }
};

TEST_F(QuotedLines, GoOnBehindANewlineInQuotes) {
  EXPECT_THAT(Lines("a,\"b\nc\",d\ne\n\"\n\n\"\nf"),
              ElementsAre("1: a,\"b\nc\",d", "3: e", "4: \"\n\n\"", "7: f"));
  EXPECT_THAT(Lines("\"a\"\"\nb\"\r\nc\n"), ElementsAre("1: \"a\"\"\nb\"", "3: c"));
}

TEST_F(QuotedLines, EndAtANewlineThatNoOpenQuoteHides) {
  EXPECT_THAT(Lines("5\" pipe,a\nb\"\nc\n"), ElementsAre("1: 5\" pipe,a", "2: b\"", "3: c"));
  EXPECT_THAT(Lines("\"a\",\"b\"\n\"c\"d\ne"), ElementsAre("1: \"a\",\"b\"", "2: \"c\"d", "3: e"));
}

TEST_F(QuotedLines, AnOpenQuoteSpoilsOneLine) {
  EXPECT_THAT(Lines("a\n\"b\nc\nd\n"), ElementsAre("1: a", "2! \"b", "3: c", "4: d"));
  EXPECT_THAT(Lines("a\n\"b"), ElementsAre("1: a", "2! \"b"));
  EXPECT_THAT(Lines("\"a\n\"\"b\nc\""), ElementsAre("1: \"a\n\"\"b\nc\""));
  const std::string far(2 * kMaxLineBytes, 'x');
  EXPECT_THAT(Lines("\"a\nb\n" + far + "\nc\n"),
              ElementsAre("1! \"a", "2: b", "3: (too long)", "4: c"));
}

TEST_F(QuotedLines, HideNoNewlineWhereTextFollowsThem) {
  EXPECT_THAT(Lines("1,\"a\nb\nc\"d\ne\n"), ElementsAre("1! 1,\"a", "2: b", "3: c\"d", "4: e"));
  EXPECT_THAT(Lines("1,\"a\nb\" \t,c\n\"d\ne\"\r\nf"),
              ElementsAre("1: 1,\"a\nb\" \t,c", "3: \"d\ne\"", "5: f"))
      << "spaces are no text";
  EXPECT_THAT(Lines("\"a\nb\"c"), ElementsAre("1! \"a", "2: b\"c"));
  EXPECT_THAT(Lines("\"a\"b,\"c\nd\"\n"), ElementsAre("1: \"a\"b,\"c", "2: d\""));
}

TEST_F(QuotedLines, AreFoundOverTheEndsOfBuffers) {
  std::string text, last;
  for (int i = 0; i < 30'000; ++i) text += StrCat(i, ",\"x\n", std::string(i % 40, 'y'), "\"\n");
  const std::vector<std::string> lines = Lines(text);
  ASSERT_EQ(lines.size(), 30'000u);
  EXPECT_EQ(lines[29'999], StrCat("59999: 29999,\"x\n", std::string(29'999 % 40, 'y'), "\""));
}

TEST_F(LineReaderTest, DropsCarriageReturnsAndNeedsNoLastNewline) {
  EXPECT_THAT(AllLines(Write("f", "a\r\n\r\nb\rc\r\nd")), ElementsAre("a", "", "b\rc", "d"));
  EXPECT_THAT(AllLines(Write("f", "a\r\nb\r")), ElementsAre("a", "b"));
}

TEST_F(LineReaderTest, GivesEveryLineOfAFileManyBuffersLong) {
  const std::string text = NoisyLines(100'000);
  std::string joined;
  for (const std::string& line : AllLines(WriteGzip("long.gz", text))) joined += line + "\n";
  EXPECT_TRUE(joined == text);
}

TEST_F(LineReaderTest, SkipsLinesAndCountsThem) {
  const auto reader = Open(Write("f", CriteoLines(0, 5000) + "last"));
  EXPECT_EQ(*reader->Skip(4999), 4999);
  Line line;
  ASSERT_TRUE(*reader->Next(&line));
  EXPECT_EQ(line.text, CriteoLine(4999));
  EXPECT_EQ(reader->line_count(), 5000);
  EXPECT_FALSE(*reader->AtEnd());
  EXPECT_EQ(*reader->Skip(10), 1) << "the line without a newline counts";
  EXPECT_EQ(reader->line_count(), 5001);
  EXPECT_TRUE(*reader->AtEnd());
  EXPECT_FALSE(*reader->Next(&line));
  EXPECT_EQ(*reader->Skip(1), 0);
}

TEST_F(LineReaderTest, ReportsTooLongLinesWithoutTheirText) {
  const std::string longest(kMaxLineBytes, 'x');
  const std::string huge(5 * kMaxLineBytes, 'y');
  EXPECT_THAT(
      AllLines(Write("f", "a\n" + huge + "\n" + longest + "\n" + longest + "z\nb\n" + huge)),
      ElementsAre("a", "(too long)", longest, "(too long)", "b", "(too long)"));
  const auto reader = Open(Path("f"));
  EXPECT_EQ(*reader->Skip(100), 6);
}

TEST_F(LineReaderTest, ALongLineThatEndsTheFileAtTheLimitCountsOnce) {
  for (const size_t extra : {0u, 1u, 2u}) {
    const auto path = Write("f", std::string(kMaxLineBytes + extra, 'x'));
    EXPECT_EQ(AllLines(path).size(), 1u) << extra;
    EXPECT_EQ(AllLines(Write("f", std::string(kMaxLineBytes + extra, 'x') + "\n")).size(), 1u);
  }
}

TEST_F(LineReaderTest, RefusesWhatIsNoFileWithItsName) {
  const auto missing = LineReader::Open(Path("missing")).status();
  EXPECT_EQ(missing.code(), StatusCode::kNotFound);
  EXPECT_EQ(missing.message(), Path("missing") + ": no such file");
  const auto folder = LineReader::Open(directory()).status();
  EXPECT_EQ(folder.code(), StatusCode::kNotFound);
  EXPECT_EQ(folder.message(), directory() + " is a directory; name the files in it");
  EXPECT_EQ(LineReader::Open("/dev/null").status().code(), StatusCode::kInvalidData);
}

TEST_F(LineReaderTest, ReadsAPipeOnceAndStartsAgainWithWhatItKept) {
  const std::string text = NoisyLines(30'000);
  for (const bool packed : {false, true}) {
    const std::string path = Path(StrCat("fifo", packed));
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    std::string bytes = text;
    if (packed) {
      std::ifstream file(WriteGzip("packed.gz", text), std::ios::binary);
      bytes.assign(std::istreambuf_iterator<char>(file), {});
    }
    std::thread writer([&] {
      std::ofstream out(path, std::ios::binary);
      out << bytes[0] << std::flush;  // a pipe may give one byte at a time
      out << bytes.substr(1);
    });
    auto reader = LineReader::Open(path, {}, Passes::kOne);
    EXPECT_TRUE(reader.ok()) << reader.status();
    if (reader.ok()) {
      (*reader)->Keep();
      Line line;
      for (int i = 0; i < 20'000; ++i) EXPECT_TRUE(*(*reader)->Next(&line));
      (*reader)->StartAgain();
      std::string joined;
      while (*(*reader)->Next(&line)) joined += StrCat(line.text, "\n");
      EXPECT_TRUE(joined == text);
      EXPECT_EQ((*reader)->line_count(), 30'000);
      EXPECT_EQ((*reader)->first_text_line(), 30'001);
    }
    writer.join();
  }
}

TEST_F(LineReaderTest, KeepsNoMoreThanItMayAndReadsItAllTheSame) {
  const std::string text = NoisyLines(100'000);
  for (const std::string& path : {Write("plain", text), WriteGzip("zipped", text)}) {
    const auto reader = Open(path);
    EXPECT_EQ(*reader->Skip(1000), 1000);
    reader->Keep(1'000'000);
    EXPECT_EQ(reader->Skip(99'000).status().code(), StatusCode::kResourceExhausted);
    reader->StartAgain();
    EXPECT_EQ(reader->line_count(), 1000);
    EXPECT_EQ(*reader->Skip(100'000), 99'000);
  }
}

TEST_F(LineReaderTest, RefusesAnEmptyFilePlainOrCompressed) {
  for (const std::string& path : {Write("plain", ""), WriteGzip("zipped.gz", "")}) {
    const auto status = LineReader::Open(path).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidData);
    EXPECT_EQ(status.message(), path + " is empty");
  }
}

TEST_F(LineReaderTest, SaysThatCompressedDataEndsEarlyWhereverItIsCut) {
  const std::string text = NoisyLines(20'000);
  const auto path = WriteGzip("cut.gz", text);
  const auto full_size = std::filesystem::file_size(path);
  for (const auto size : {full_size - 1, full_size - 8, full_size / 2, uintmax_t{100}}) {
    std::filesystem::resize_file(path, size);
    const Status status = ReadError(path);
    EXPECT_EQ(status.code(), StatusCode::kInvalidData) << size;
    EXPECT_EQ(status.message(), path + ": compressed data ends early (truncated file?)") << size;
  }
}

TEST_F(LineReaderTest, SaysThatCompressedDataIsDamaged) {
  const auto path = WriteGzip("damaged.gz", NoisyLines(20'000));
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(50'000);
  file << std::string(64, '\xff');
  file.close();
  const Status status = ReadError(path);
  EXPECT_EQ(status.code(), StatusCode::kInvalidData);
  EXPECT_THAT(status.message(), StartsWith(path + ": compressed data is damaged ("));
}

TEST_F(LineReaderTest, StaysFailedAfterAnError) {
  const auto path = WriteGzip("cut.gz", NoisyLines(2'000));
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  const auto reader = Open(path);
  EXPECT_FALSE(reader->Skip(1'000'000).ok());
  Line line;
  EXPECT_FALSE(reader->Next(&line).ok());
  EXPECT_FALSE(reader->AtEnd().ok());
}

}  // namespace
}  // namespace weir::data
