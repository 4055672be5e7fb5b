#include "common/saved_model/manifest.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/strings.h"
#include "common/config/defaults.h"
#include "common/config/validate_config.h"
#include "common/wire/checksum.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"

namespace weir::saved_model {
namespace {

// Of the folder, and of the frames in it.
constexpr uint32_t kFormatOfOne = 2, kFormatOfParts = 3;
// Many times as many servers as a run has.
constexpr int kMostParts = 1 << 16;
// More than any run takes, and as far from the end of 64 bits as versions that count on need.
constexpr uint64_t kMostSteps = uint64_t{1} << 48;
// What the last line begins with: the name of the field.
constexpr const char* kChecksum = "checksum: ";

std::string ChecksumLine(const std::string& lines) {
  wire::Checksum checksum;
  checksum.Append(AsBytes(lines));
  return StrCat(kChecksum, checksum.value(), "\n");
}

// Whether the last line is the checksum of the others; nothing if it is none.
std::optional<bool> IsAsWritten(const std::string& text) {
  const size_t end_of_lines = text.rfind(StrCat("\n", kChecksum));
  if (end_of_lines == std::string::npos) return std::nullopt;
  const std::string lines = text.substr(0, end_of_lines + 1);
  return text == lines + ChecksumLine(lines);
}

bool LearnedFits(const v1::SavedModelManifest& manifest) {
  const v1::CsvConfig& csv = manifest.config().data().csv();
  return manifest.learned().dense_size() == csv.dense_size() &&
         manifest.learned().categorical_size() == csv.categorical_size();
}

bool PartsFit(const v1::SavedModelManifest& manifest) {
  if (manifest.format() == kFormatOfOne) return manifest.parts_size() == 0;
  uint64_t bytes = 0;
  for (const v1::SavedPart& part : manifest.parts()) bytes += part.bytes();
  return manifest.parts_size() > 0 && manifest.parts_size() <= kMostParts &&
         bytes == manifest.parameter_bytes();
}

// What cannot be so in a model of any run; empty if all can.
std::string ContentProblem(const v1::SavedModelManifest& manifest) {
  const std::vector<std::string> mistakes = config::ValidateConfig(manifest.config());
  if (!mistakes.empty()) return StrCat("is damaged: config: ", mistakes[0]);
  if (manifest.id() == 0 || !LearnedFits(manifest)) {
    return "is damaged: it lacks its id, or what columns have learned";
  }
  if (!PartsFit(manifest)) return "is damaged: its parts are not what its format and bytes say";
  if (manifest.steps() > kMostSteps) {
    return StrCat("has ", manifest.steps(), " steps, more than a run can take");
  }
  const uint64_t row_steps = RowSteps(manifest);
  if (row_steps > manifest.steps()) {
    return StrCat("has ", row_steps, " steps of rows, more than its ", manifest.steps());
  }
  const v1::RuleStarts& starts = manifest.rule_starts();
  const uint64_t untouched = starts.untouched_rows();
  if (starts.dense() > manifest.steps() || std::max(starts.rows(), untouched) > row_steps ||
      (untouched > 0 && untouched < starts.rows())) {
    return StrCat("has rule_starts that do not fit its ", manifest.steps(), " steps");
  }
  return "";
}

// The first mistake, where protobuf would write them to the log.
class FirstMistake : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int /*column*/, const std::string& message) override {
    if (text_.empty()) text_ = StrCat("line ", line + 1, ": ", message);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace

std::string WithChecksum(const std::string& lines) { return lines + ChecksumLine(lines); }

std::string ManifestText(v1::SavedModelManifest manifest) {
  manifest.set_format(manifest.parts_size() > 0 ? kFormatOfParts : kFormatOfOne);
  manifest.clear_checksum();
  std::string lines;
  google::protobuf::TextFormat::PrintToString(manifest, &lines);
  return WithChecksum(lines);
}

Result<v1::SavedModelManifest> ReadManifest(const std::string& path) {
  std::error_code ignored;
  std::ifstream file;  // of a pipe it would wait for the other end
  if (std::filesystem::is_regular_file(path, ignored)) file.open(path, std::ios::binary);
  if (!file.is_open()) {
    const std::string folder = std::filesystem::path(path).parent_path().string();
    return NotFound(StrCat(folder, " is no saved model: ", path, " cannot be opened"));
  }
  std::ostringstream text;
  text << file.rdbuf();
  // First: what was written by another release has its checksum, too.
  const std::optional<bool> is_as_written = IsAsWritten(text.str());
  if (is_as_written == false) {
    return InvalidData(StrCat(path,
                              " is not as it was written: it was damaged or changed, for its "
                              "checksum is another; copy the whole folder again"));
  }
  v1::SavedModelManifest manifest;
  FirstMistake mistake;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&mistake);
  if (!parser.ParseFromString(text.str(), &manifest)) {
    return InvalidData(StrCat(path, " is damaged, or of another version: ", mistake.text()));
  }
  if (manifest.format() != kFormatOfOne && manifest.format() != kFormatOfParts) {
    return InvalidData(StrCat(path, " has format ", manifest.format(), ", this program reads ",
                              kFormatOfOne, " and ", kFormatOfParts,
                              "; read it with the release that wrote it, or train again"));
  }
  std::string problem;
  if (!is_as_written) {
    problem = "does not end with its checksum: it is cut short, or of an earlier build";
  }
  config::FillDefaults(manifest.mutable_config());
  if (problem.empty()) problem = ContentProblem(manifest);
  if (!problem.empty()) return InvalidData(StrCat(path, " ", problem));
  return manifest;
}

}  // namespace weir::saved_model
