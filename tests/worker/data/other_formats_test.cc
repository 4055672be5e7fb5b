#include "worker/data/other_formats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "tests/worker/data/data_files.h"
#include "worker/data/line_reader.h"

namespace weir::data {
namespace {

using std::literals::operator""s;  // NOLINT(misc-unused-using-decls): literals are its uses
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class OtherFormatsTest : public DataFilesTest {
 protected:
  static std::string Refusal(const std::string& path) {
    return LineReader::Open(path).status().message();
  }
};

// As long as what tells, with its marks where they belong.
std::string Beginning(const OtherFormat& format) {
  std::string text = "label,hour\n1,2\n\x06\x02";
  text.resize(kTellingBytes, 'x');
  for (const Mark& mark : {format.mark, format.second}) {
    text.replace(mark.at, mark.bytes.size(), mark.bytes);
  }
  return text;
}

struct Known {
  std::string begin;
  std::string name;
  std::string advice;
};

std::string At(size_t place, const std::string& mark) {
  return std::string(place, 'a') + mark + std::string(kTellingBytes, '\2');
}

// What such programs write, by their descriptions.
std::vector<Known> KnownFiles() {
  const std::string zip = "PK\x03\x04" + std::string(26, '\2');
  return {
      {At(257, "ustar\0"s + "00"), "a tar archive", "tar -xf"},
      {At(257, "ustar  \0"s), "a tar archive", "tar -xf"},
      {"PAR1\x15\x04\x15"s, "a Parquet file", "duckdb -c \"COPY (FROM '"},
      {"PARE\x15\x04\x15"s, "an encrypted Parquet file", "decrypt it"},
      {"ARROW1\0\0"s, "an Arrow file", "pandas.read_feather("},
      {"FEA1\0\0\0\0"s, "a Feather file", "pandas.read_feather("},
      {"\xff\xff\xff\xff\x88\x02\0\0"s, "a stream of Arrow", "a.ipc.open_stream("},
      {"ORC\n\x06\x12\x04"s, "an ORC file", "pandas.read_orc("},
      {"Obj\x01\x04\x16"s, "an Avro file", "read_avro("},
      {"\x93NUMPY\x01\0v\0"s, "an array of NumPy", "numpy.load("},
      {"\x89HDF\r\n\x1a\n"s, "an HDF5 file", "pandas.read_hdf("},
      {"\x80\x02}q\0"s, "a pickle of Python", "pandas.read_pickle("},
      {"\x80\x03}q\0"s, "a pickle of Python", "pandas.read_pickle("},
      {"\x80\x04\x95\x10\0"s, "a pickle of Python", "pandas.read_pickle("},
      {"\x80\x05\x95\x10\0"s, "a pickle of Python", "pandas.read_pickle("},
      {zip + "[Content_Types].xml", "a workbook of Excel", "pandas.read_excel("},
      {zip + "xl/workbook.xml", "a workbook of Excel", "pandas.read_excel("},
      {zip + "docProps/app.xml", "a workbook of Excel", "pandas.read_excel("},
      {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"s, "a workbook of Excel", "pandas.read_excel("},
      {"SQLite format 3\0"s, "a database of SQLite", "sqlite3 -header -csv"},
      {zip + "arr_0.npy", "a zip archive, as .npz", "unzip"},
      {"PK\x05\x06\0\0"s, "an empty zip archive", "name another file"},
      {"7z\xbc\xaf\x27\x1c\0\4"s, "a 7z archive", "unpack it"},
      {"Rar!\x1a\x07\x01\0"s, "a RAR archive", "unpack it"},
      {"BZh91AY&SY\x01\x02"s, "packed by bzip2", "gzip and zstd are read"},
      {"\xfd\x37zXZ\0\0\4"s, "packed by xz", "gzip and zstd are read"},
      {"\x5d\0\0\x80\0"s, "packed by lzma", "gzip and zstd are read"},
      {"\x04\x22\x4d\x18\x64"s, "packed by lz4", "gzip and zstd are read"},
      {"\x02\x21\x4c\x18\x64"s, "packed by lz4", "gzip and zstd are read"},
      {"\xff\x06\0\0sNaPpY"s, "packed by snappy", "gzip and zstd are read"},
      {"\x1f\x9d\x90"s, "packed by compress", "gzip and zstd are read"},
      {"\xff\xfe\0\0l\0\0\0"s, "text in UTF-32", "iconv -f UTF-32"},
      {"\0\0\xfe\xff\0\0\0l"s, "text in UTF-32", "iconv -f UTF-32"},
      {"\xff\xfel\0a\0"s, "text in UTF-16", "iconv -f UTF-16"},
      {"\xfe\xff\0l\0a"s, "text in UTF-16", "iconv -f UTF-16"},
      {"l\0a\0b\0"s, "text in UTF-16 without its mark", "iconv -f UTF-16LE"},
      {"\0l\0a\0b"s, "text in UTF-16 without its mark", "iconv -f UTF-16BE"},
  };
}

TEST_F(OtherFormatsTest, NamesWhatIsNotReadAndWhatToDo) {
  for (const Known& known : KnownFiles()) {
    SCOPED_TRACE(known.name);
    const std::string path = Write("f.data", known.begin);
    EXPECT_THAT(Refusal(path), AllOf(StartsWith(path + " is " + known.name), HasSubstr("; "),
                                     HasSubstr(known.advice)));
  }
}

TEST_F(OtherFormatsTest, NamesThemInsideWhatGzipAndZstdHavePacked) {
  size_t number = 0;
  for (const OtherFormat& format : OtherFormats()) {
    SCOPED_TRACE(format.name);
    const std::string text = Beginning(format);
    for (const std::string& path :
         {WriteGzip(StrCat("g", number), text), WriteZstd(StrCat("z", number), text)}) {
      EXPECT_THAT(Refusal(path), StartsWith(StrCat(path, " is ", format.name, "; ")));
    }
    ++number;
  }
}

TEST_F(OtherFormatsTest, EveryRowIsTheFirstThatItsOwnMarkMatches) {
  for (const OtherFormat& format : OtherFormats()) {
    EXPECT_THAT(DescribeOtherFormat("f", false, Beginning(format)),
                StartsWith(StrCat("f is ", format.name, "; ")));
  }
}

TEST_F(OtherFormatsTest, TheAdviceNamesTheFileAndTheTextBesideIt) {
  const std::string parquet = "PAR1\x15\x04"s;
  EXPECT_EQ(DescribeOtherFormat("d/x.parquet", false, parquet),
            "d/x.parquet is a Parquet file; make CSV of it, for example: "
            "duckdb -c \"COPY (FROM 'd/x.parquet') TO 'd/x.csv'\"");
  EXPECT_THAT(DescribeOtherFormat("d/x.parquet", true, parquet),
              HasSubstr("; unpack it first, and then make CSV of it"));
  EXPECT_THAT(DescribeOtherFormat("x.csv", false, "\xff\xfel\0"s), EndsWith(" x.csv > x.text.csv"));
}

// What a program gets as its arguments from the command of a message.
std::string ArgumentsOf(const std::string& message, const std::string& program) {
  const size_t begin = message.rfind(program + " -");
  EXPECT_NE(begin, std::string::npos) << message;
  const std::string line = StrCat(program, "() { printf '%s|' \"$@\"; }\n", message.substr(begin));
  FILE* pipe = popen(line.c_str(), "r");
  std::string told;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) told += static_cast<char>(c);
  EXPECT_EQ(pclose(pipe), 0) << line;
  return told;
}

TEST_F(OtherFormatsTest, CommandsGetNamesAsTheyAreWhateverIsInThem) {
  const std::string name = "it's $(echo no) \"`x`\" 'OUT'";
  EXPECT_THAT(ArgumentsOf(DescribeOtherFormat(name + ".orc", false, "ORC\n\x06"s), "python3"),
              EndsWith(StrCat("|", name, ".orc|", name, ".csv|")));
  EXPECT_EQ(ArgumentsOf(DescribeOtherFormat(name + ".tar", false, At(257, "ustar\0"s)), "tar"),
            StrCat("-xf|", name, ".tar|"));
  const std::string doubled = "it''s $(echo no) \"`x`\" ''OUT''";
  EXPECT_EQ(ArgumentsOf(DescribeOtherFormat(name + ".pq", false, "PAR1\x15\x04"s), "duckdb"),
            StrCat("-c|COPY (FROM '", doubled, ".pq') TO '", doubled, ".csv'|"));
}

TEST_F(OtherFormatsTest, ATextMayBeginWithTheirWords) {
  for (const OtherFormat& format : OtherFormats()) {
    const std::string mark(format.mark.bytes);
    if (mark.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZahbj0123456789") != std::string::npos) {
      continue;
    }
    EXPECT_THAT(DescribeOtherFormat("f", false, mark + ",größe\n1,2\n"), IsEmpty()) << mark;
    EXPECT_THAT(DescribeOtherFormat("f", false,
                                    mark + "\x01hour\n1\x01"
                                           "2\n"),
                IsEmpty())
        << mark;
  }
}

}  // namespace
}  // namespace weir::data
