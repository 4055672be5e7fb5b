#include "common/config/load_config.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>

#include "common/base/strings.h"
#include "common/config/defaults.h"
#include "common/config/overlay.h"
#include "common/config/parse_text.h"
#include "common/config/validate_config.h"

namespace weir::config {
namespace {

Result<std::string> ReadFile(const std::string& path) {
  if (path.empty()) return InvalidConfig("--config: a comma without a file's name beside it");
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return InvalidConfig(StrCat(path, ": is a directory; --config takes files"));
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || file.bad()) {
    return InvalidConfig(
        StrCat(path, ": cannot be read: ", std::strerror(errno == 0 ? EIO : errno)));
  }
  return text;
}

// Without the mark that some editors write before it.
Result<std::string> AsUtf8(const std::string& path, std::string text) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) {
    return InvalidConfig(StrCat(path, ": is text in UTF-16, and UTF-8 is read: save it so, or ",
                                "iconv -f UTF-16 -t UTF-8 ", ShellWord(path)));
  }
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  return text;
}

// The overlay of everything read so far, and what was wrong with it.
struct Loader {
  v1::Config config;
  std::vector<std::string> mistakes;
  bool whole = true;

  void Add(ParsedText parsed) {
    whole = whole && parsed.whole;
    std::move(parsed.mistakes.begin(), parsed.mistakes.end(), std::back_inserter(mistakes));
    Overlay(parsed.config, &config);
  }

  void AddFile(const std::string& path) {
    Result<std::string> text = ReadFile(path);
    if (text.ok()) text = AsUtf8(path, *std::move(text));
    if (text.ok()) return Add(ParseText(path, *std::move(text)));
    whole = false;
    mistakes.push_back(text.status().message());
  }

  Result<v1::Config> Resolved() const {
    v1::Config resolved = config;
    FillDefaults(&resolved);
    std::vector<std::string> all = mistakes;
    if (whole) std::ranges::move(ValidateConfig(resolved), std::back_inserter(all));
    if (!all.empty()) return InvalidConfig(StrJoin(all, "\n"));
    return resolved;
  }
};

}  // namespace

Result<v1::Config> LoadConfig(const std::vector<std::string>& files,
                              const std::string& override_text,
                              const std::function<v1::Config(const v1::Config&)>& find) {
  Loader loader;
  for (const std::string& path : files) loader.AddFile(path);
  loader.Add(ParseText("--override", override_text));
  Result<v1::Config> config = loader.Resolved();
  if (!config.ok() || !find || !GoesByTrainRows(loader.config.update())) return config;
  Overlay(find(*config), &loader.config);
  return loader.Resolved();
}

std::string ToText(const v1::Config& config) {
  google::protobuf::TextFormat::Printer printer;
  printer.SetUseShortRepeatedPrimitives(true);
  std::string fields;
  CHECK(printer.PrintToString(config, &fields));
  return "# proto-file: common/proto/config.proto\n# proto-message: weir.v1.Config\n\n" + fields;
}

}  // namespace weir::config
