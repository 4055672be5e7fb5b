#include "tools/data/proposal.h"

#include <google/protobuf/text_format.h>

#include <cstring>
#include <memory>
#include <vector>

#include "common/base/check.h"
#include "common/base/strings.h"
#include "common/config/defaults.h"
#include "common/config/validate_config.h"
#include "worker/data/line_reader.h"

namespace weir::tools {
namespace {

// The fields of a message, indented, or in one line.
std::string Fields(const google::protobuf::Message& message, int indent, bool in_one_line) {
  google::protobuf::TextFormat::Printer printer;
  printer.SetUseShortRepeatedPrimitives(true);
  printer.SetUseUtf8StringEscaping(true);
  printer.SetSingleLineMode(in_one_line);
  printer.SetInitialIndentLevel(indent);
  std::string text;
  CHECK(printer.PrintToString(message, &text));
  return text;
}

class CsvText {
 public:
  explicit CsvText(const Proposal& proposal) : proposal_(proposal) {}

  std::string Text() const {
    const v1::CsvConfig& csv = proposal_.config.data().csv();
    v1::CsvConfig rest = csv;
    rest.clear_label();
    rest.clear_dense();
    rest.clear_categorical();
    std::string text = StrCat("  csv {\n", Fields(rest, 2, false), LabelLine(csv.label()));
    for (const v1::DenseColumn& column : csv.dense()) text += Line("dense", column);
    for (const v1::CategoricalColumn& column : csv.categorical()) {
      text += Line("categorical", column);
    }
    return text + "  }\n";
  }

 private:
  // Lists as lists, which the printer does of numbers alone.
  static std::string List(const char* field,
                          const google::protobuf::RepeatedPtrField<std::string>& values) {
    v1::CsvLabel one;
    std::vector<std::string> texts;
    for (const std::string& value : values) {
      one.set_column(value);
      texts.push_back(Fields(one, 0, true).substr(std::strlen("column: ")));
      texts.back().pop_back();
    }
    return StrCat(field, ": [", StrJoin(texts, ", "), "] ");
  }

  static std::string LabelLine(const v1::CsvLabel& label) {
    v1::CsvLabel column;
    column.set_column(label.column());
    return StrCat("    label { ", Fields(column, 0, true), List("positive", label.positive()),
                  List("negative", label.negative()), "}\n");
  }

  template <typename Column>
  std::string Line(const char* kind, const Column& column) const {
    const auto comment = proposal_.comments.find(column.column());
    return StrCat("    ", kind, " { ", Fields(column, 0, true), "}",
                  comment == proposal_.comments.end() ? "" : "  # " + comment->second, "\n");
  }

  const Proposal& proposal_;
};

std::string DataText(const Proposal& proposal) {
  if (!proposal.config.data().has_csv()) return Fields(proposal.config.data(), 1, false);
  v1::DataConfig rest = proposal.config.data();
  rest.clear_csv();
  return Fields(rest, 1, false) + CsvText(proposal).Text();
}

std::string UpdateText(const Proposal& proposal) {
  if (!proposal.config.has_update()) return "";
  const v1::UpdateConfig& update = proposal.config.update();
  const int32_t epochs = proposal.config.data().epochs();
  return StrCat("# ", epochs, epochs == 1 ? " epoch" : " epochs", " of ", proposal.size.row_count,
                " rows: ", update.dense().schedule().cosine().steps(),
                " steps, at the end of which the learning rate is 0.\n",
                "# Other epochs, files or data.batch_size want other steps.\nupdate {\n  dense { ",
                Fields(update.dense(), 0, true), "}\n  rows { ", Fields(update.rows(), 0, true),
                "}\n}\n");
}

// With defaults, as a run has it.
Result<v1::Config> Completed(const v1::Config& proposed) {
  v1::Config config = proposed;
  config::FillDefaults(&config);
  const std::vector<std::string> mistakes = config::ValidateConfig(config);
  if (mistakes.empty()) return config;
  return InvalidData(StrCat("no config holds this data: ", StrJoin(mistakes, "\n")));
}

}  // namespace

std::string ProposalText(const Proposal& proposal) {
  return StrCat("# proto-file: common/proto/config.proto\n# proto-message: weir.v1.Config\n\n",
                "model {\n", Fields(proposal.config.model(), 1, false), "}\ndata {\n",
                DataText(proposal), "}\n", UpdateText(proposal));
}

Result<Reading> TryReading(const Proposal& proposal, data::Split split, int64_t line_limit) {
  WEIR_ASSIGN_OR_RETURN(const v1::Config config, Completed(proposal.config));
  WEIR_ASSIGN_OR_RETURN(const auto reader, data::MakeReader(config));
  Reading reading;
  data::RowBlock block;
  data::ChunkId chunk = {.split = split};
  for (bool at_end = false; !at_end && reading.line_count < line_limit; ++chunk.chunk) {
    WEIR_ASSIGN_OR_RETURN(const data::ChunkResult result, reader->ReadChunk(chunk, &block));
    at_end = result.end_of_file;
    reading.line_count += result.line_count + result.hidden_line_count;
    reading.malformed_count += std::ssize(block.malformed) + result.hidden_line_count;
    if (reading.first_problem.empty() && !result.problems.empty()) {
      reading.first_problem = result.problems.front();
    }
  }
  return reading;
}

std::string Told(const Reading& reading) {
  if (reading.malformed_count == 0) {
    return StrCat("with it none of ", reading.line_count, " lines is malformed");
  }
  return StrCat("with it ", reading.malformed_count, " of ", reading.line_count,
                reading.malformed_count == 1 ? " lines is" : " lines are",
                " malformed, the first: ", reading.first_problem);
}

Result<int64_t> CountLines(const std::string& path, int64_t most) {
  WEIR_ASSIGN_OR_RETURN(const auto lines, data::LineReader::Open(path));
  return lines->Skip(most);
}

}  // namespace weir::tools
