#include "worker/data/other_formats.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "common/base/strings.h"

namespace weir::data {
namespace {

using std::literals::operator""sv;  // NOLINT(misc-unused-using-decls): literals are its uses

constexpr const char* kPack = "plain text, gzip and zstd are read: unpack it, or pack it so";
constexpr const char* kUntar = "unpack it, and name the files in it: tar -xf 'IN'";
constexpr const char* kUnzip = "unpack it, and name the files in it: unzip 'IN'";
constexpr const char* kDuckdb =
    "make CSV of it, for example: duckdb -c {COPY (FROM 'IN') TO 'OUT'}";
constexpr const char* kArrow =
    "make CSV of it, for example: python3 -c \"import pandas, sys; "
    "pandas.read_feather(sys.argv[1]).to_csv(sys.argv[2], index=False)\" 'IN' 'OUT'";
constexpr const char* kStream =
    "make CSV of it, for example: python3 -c \"import sys, pyarrow as a, pyarrow.csv as c; "
    "c.write_csv(a.ipc.open_stream(sys.argv[1]).read_all(), sys.argv[2])\" 'IN' 'OUT'";
constexpr const char* kOrc =
    "make CSV of it, for example: python3 -c \"import pandas, sys; "
    "pandas.read_orc(sys.argv[1]).to_csv(sys.argv[2], index=False)\" 'IN' 'OUT'";
constexpr const char* kAvro =
    "make CSV of it, for example: duckdb -c {INSTALL avro; LOAD avro; "
    "COPY (FROM read_avro('IN')) TO 'OUT'}";
constexpr const char* kNumpy =
    "make CSV of it, for example: python3 -c \"import numpy, sys; "
    "numpy.savetxt(sys.argv[2], numpy.load(sys.argv[1]), delimiter=',', fmt='%.9g')\" 'IN' 'OUT'";
constexpr const char* kHdf5 =
    "make CSV of it; of a table that pandas wrote: python3 -c \"import pandas, sys; "
    "pandas.read_hdf(sys.argv[1]).to_csv(sys.argv[2], index=False)\" 'IN' 'OUT'";
constexpr const char* kPickle =
    "make CSV of it; of a table of pandas, from somebody you trust: python3 -c \"import pandas, "
    "sys; pandas.read_pickle(sys.argv[1]).to_csv(sys.argv[2], index=False)\" 'IN' 'OUT'";
constexpr const char* kExcel =
    "make CSV of it, for example: python3 -c \"import pandas, sys; "
    "pandas.read_excel(sys.argv[1]).to_csv(sys.argv[2], index=False)\" 'IN' 'OUT'";
constexpr const char* kSqlite =
    "make CSV of one of its tables, for example: sqlite3 -header -csv 'IN' "
    "'SELECT * FROM TABLE' > 'OUT'";
constexpr const char* kUtf16 = "UTF-8 is read: iconv -f UTF-16 -t UTF-8 'IN' > 'OUT'";
constexpr const char* kLittleUtf16 = "UTF-8 is read: iconv -f UTF-16LE -t UTF-8 'IN' > 'OUT'";
constexpr const char* kBigUtf16 = "UTF-8 is read: iconv -f UTF-16BE -t UTF-8 'IN' > 'OUT'";
constexpr const char* kUtf32 = "UTF-8 is read: iconv -f UTF-32 -t UTF-8 'IN' > 'OUT'";

constexpr Mark kZip = {0, "PK\x03\x04"sv};
constexpr size_t kZipNameAt = 30;  // of the first file in it
constexpr size_t kTarMagicAt = 257;

// The first that matches is told, so what is more is above what is less.
constexpr std::array kFormats = std::to_array<OtherFormat>({
    {"a tar archive", {kTarMagicAt, "ustar\0"sv}, {}, kUntar},
    {"a tar archive", {kTarMagicAt, "ustar  \0"sv}, {}, kUntar},
    {"a Parquet file", {0, "PAR1"sv}, {}, kDuckdb},
    {"an encrypted Parquet file", {0, "PARE"sv}, {}, "decrypt it, and make CSV of it"},
    {"an Arrow file", {0, "ARROW1\0\0"sv}, {}, kArrow},
    {"a Feather file", {0, "FEA1"sv}, {}, kArrow},
    {"a stream of Arrow", {0, "\xff\xff\xff\xff"sv}, {7, "\0"sv}, kStream},
    {"an ORC file", {0, "ORC"sv}, {}, kOrc},
    {"an Avro file", {0, "Obj\x01"sv}, {}, kAvro},
    {"an array of NumPy", {0, "\x93NUMPY"sv}, {}, kNumpy},
    {"an HDF5 file", {0, "\x89HDF\r\n\x1a\n"sv}, {}, kHdf5},
    {"a pickle of Python", {0, "\x80\x02"sv}, {}, kPickle},
    {"a pickle of Python", {0, "\x80\x03"sv}, {}, kPickle},
    {"a pickle of Python", {0, "\x80\x04"sv}, {}, kPickle},
    {"a pickle of Python", {0, "\x80\x05"sv}, {}, kPickle},
    {"a workbook of Excel", kZip, {kZipNameAt, "[Content_Types].xml"sv}, kExcel},
    {"a workbook of Excel", kZip, {kZipNameAt, "xl/"sv}, kExcel},
    {"a workbook of Excel", kZip, {kZipNameAt, "docProps/"sv}, kExcel},
    {"a workbook of Excel", {0, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"sv}, {}, kExcel},
    {"a database of SQLite", {0, "SQLite format 3\0"sv}, {}, kSqlite},
    {"a zip archive, as .npz and .pt files are", kZip, {}, kUnzip},
    {"an empty zip archive", {0, "PK\x05\x06"sv}, {}, "name another file"},
    {"a 7z archive", {0, "7z\xbc\xaf\x27\x1c"sv}, {}, "unpack it, and name the files in it"},
    {"a RAR archive", {0, "Rar!\x1a\x07"sv}, {}, "unpack it, and name the files in it"},
    {"packed by bzip2", {0, "BZh"sv}, {4, "1AY&SY"sv}, kPack},
    {"packed by xz", {0, "\xfd\x37zXZ\0"sv}, {}, kPack},
    {"packed by lzma", {0, "\x5d\0\0"sv}, {}, kPack},
    {"packed by lz4", {0, "\x04\x22\x4d\x18"sv}, {}, kPack},
    {"packed by lz4", {0, "\x02\x21\x4c\x18"sv}, {}, kPack},
    {"packed by snappy", {0, "\xff\x06\0\0sNaPpY"sv}, {}, kPack},
    {"packed by compress", {0, "\x1f\x9d"sv}, {}, kPack},
    {"packed by gzip twice", {0, "\x1f\x8b"sv}, {}, "unpack it once"},
    {"packed by zstd twice", {0, "\x28\xb5\x2f\xfd"sv}, {}, "unpack it once"},
    {"text in UTF-32", {0, "\xff\xfe\0\0"sv}, {}, kUtf32},
    {"text in UTF-32", {0, "\0\0\xfe\xff"sv}, {}, kUtf32},
    {"text in UTF-16", {0, "\xff\xfe"sv}, {}, kUtf16},
    {"text in UTF-16", {0, "\xfe\xff"sv}, {}, kUtf16},
    {"text in UTF-16 without its mark", {1, "\0"sv}, {3, "\0"sv}, kLittleUtf16},
    {"text in UTF-16 without its mark", {0, "\0"sv}, {2, "\0"sv}, kBigUtf16},
});

bool IsPrintable(char c) { return c >= ' ' && c <= '~'; }

// Characters that no text has; \1 stands between the fields of some.
bool IsControl(char c) { return c == 0 || (c > 1 && c < '\t') || (c > '\r' && c < ' '); }

bool Bears(std::string_view begin, const Mark& mark) {
  return begin.size() >= mark.at && begin.substr(mark.at).starts_with(mark.bytes);
}

// A word at its beginning makes a text no file of a format: it may be the name of a column.
bool Matches(std::string_view begin, const OtherFormat& format) {
  if (!Bears(begin, format.mark) || !Bears(begin, format.second)) return false;
  return !std::ranges::all_of(format.mark.bytes, IsPrintable) ||
         std::ranges::any_of(begin, IsControl);
}

std::string Replaced(std::string text, std::string_view word, const std::string& by) {
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + by.size())) {
    text.replace(at, word.size(), by);
  }
  return text;
}

// in, out: in the place of 'IN' and 'OUT'.
std::string Filled(const std::string& text, const std::string& in, const std::string& out) {
  constexpr std::string_view kOut = "'OUT'";
  const size_t at = text.find(kOut);
  if (at == std::string::npos) return Replaced(text, "'IN'", in);
  return Replaced(text.substr(0, at), "'IN'", in) + out +
         Replaced(text.substr(at + kOut.size()), "'IN'", in);
}

std::string SqlText(const std::string& text) { return StrCat("'", Replaced(text, "'", "''"), "'"); }

// Names go into a line of shell as words of their own, but for SQL.
std::string Command(const std::string& advice, const std::string& in, const std::string& out) {
  const std::string in_word = ShellWord(in), out_word = ShellWord(out);
  const size_t begin = advice.find('{'), end = advice.find('}');
  if (begin == std::string::npos) return Filled(advice, in_word, out_word);
  const std::string sql =
      Filled(advice.substr(begin + 1, end - begin - 1), SqlText(in), SqlText(out));
  const bool is_plain = in_word == in && out_word == out;
  return StrCat(advice.substr(0, begin), is_plain ? StrCat("\"", sql, "\"") : ShellWord(sql),
                advice.substr(end + 1));
}

// The name of a text that is made of the file.
std::string TextOf(const std::string& path) {
  const std::filesystem::path file = path;
  if (file.extension() != ".csv") return std::filesystem::path(file).replace_extension("csv");
  return std::filesystem::path(file).replace_extension("text.csv");
}

}  // namespace

std::span<const OtherFormat> OtherFormats() { return kFormats; }

std::string DescribeOtherFormat(const std::string& path, bool is_packed, std::string_view begin) {
  begin = begin.substr(0, kTellingBytes);
  const auto format = std::ranges::find_if(
      kFormats, [&](const OtherFormat& other) { return Matches(begin, other); });
  if (format == kFormats.end()) return "";
  const std::string advice = format->advice;
  const bool is_recipe = advice.find("'OUT'") != std::string::npos;
  return StrCat(path, " is ", format->name, "; ",
                is_packed && is_recipe ? "unpack it first, and then " : "",
                Command(advice, path, TextOf(path)));
}

}  // namespace weir::data
