#include "worker/data/open_file.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>
#include <utility>
#include <vector>

#include "common/base/strings.h"

namespace weir::data {
namespace {

// Lines that a format may look at before the first row.
constexpr size_t kHeadLines = 5;

// name: of the file, for messages.
Result<std::unique_ptr<LineParser>> MakeParser(const std::string& name, const TextFormat& format,
                                               LineReader* reader) {
  std::array<std::string, kHeadLines> texts;  // of lines, which the next one overwrites
  std::vector<Line> head;
  for (std::string& text : texts) {
    Line line;
    WEIR_ASSIGN_OR_RETURN(const bool there, reader->Next(&line));
    if (!there) break;
    text = line.text;
    line.text = text;
    head.push_back(line);
  }
  if (head.empty()) return InvalidData(StrCat(name, " holds no line"));
  if (head.size() == 1 && format.has_header()) {
    return InvalidData(StrCat(name, " has one line, a header, and no row below it"));
  }
  auto parser = format.MakeParser(head);
  if (!parser.ok()) return InvalidData(StrCat(name, ": ", parser.status().message()));
  return parser;
}

}  // namespace

uint64_t HashOf(const Line& line) { return XXH3_64bits(line.text.data(), line.text.size()); }

Result<std::unique_ptr<OpenFile>> OpenFile::Open(const std::string& path, const TextFormat& format,
                                                 Passes passes) {
  WEIR_ASSIGN_OR_RETURN(auto lines, LineReader::Open(path, format.quotes(), passes));
  lines->Keep();
  WEIR_ASSIGN_OR_RETURN(auto parser, MakeParser(NameOf(path, passes), format, lines.get()));
  lines->StartAgain();
  std::unique_ptr<OpenFile> file(new OpenFile(std::move(lines), std::move(parser)));
  if (!format.has_header()) return file;
  Line header;
  WEIR_RETURN_IF_ERROR(file->lines_->Next(&header).status());
  file->header_lines_ = 1;
  file->header_hash_ = HashOf(header);
  return file;
}

OpenFile::OpenFile(std::unique_ptr<LineReader> lines, std::unique_ptr<LineParser> parser)
    : lines_(std::move(lines)), parser_(std::move(parser)) {}

}  // namespace weir::data
