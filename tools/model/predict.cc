#include "tools/model/predict.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>

#include "common/base/strings.h"
#include "worker/data/file_kind.h"
#include "worker/data/reader.h"

namespace weir::tools {
namespace {

// Malformed lines that are described.
constexpr size_t kDescribedProblems = 5;
// So many malformed lines are never too many, however short the file is.
constexpr int64_t kToleratedLines = 1;

v1::Config ReadingConfig(const v1::Config& config, const std::string& in) {
  v1::Config reading = config;
  reading.mutable_data()->clear_train();
  reading.mutable_data()->clear_test();
  reading.mutable_data()->clear_root();
  reading.mutable_data()->add_test(in);
  reading.mutable_data()->set_shuffle(false);
  return reading;
}

class Predictor {
 public:
  Predictor(LoadedModel* model, std::string in, double max_malformed_share,
            const std::atomic<bool>& interrupted, data::Reader* reader, OutputFile* out)
      : model_(*model),
        in_(std::move(in)),
        max_malformed_share_(max_malformed_share),
        interrupted_(interrupted),
        reader_(*reader),
        out_(*out) {}

  Result<Predictions> Run() {
    WEIR_RETURN_IF_ERROR(out_.Write("line,probability\n"));
    for (int64_t chunk = 0; !at_end_; ++chunk) WEIR_RETURN_IF_ERROR(RunChunk(chunk));
    WEIR_RETURN_IF_ERROR(CheckMalformed());
    WEIR_RETURN_IF_ERROR(out_.Finish());
    predictions_.labelled_count = std::ssize(labels_);
    if (!labels_.empty()) predictions_.metrics = eval::ComputeMetrics(scores_, labels_);
    return std::move(predictions_);
  }

 private:
  Status CheckInterrupted() const { return interrupted_ ? Interrupted("interrupted") : OkStatus(); }

  Status RunChunk(int64_t chunk) {
    WEIR_RETURN_IF_ERROR(CheckInterrupted());
    WEIR_ASSIGN_OR_RETURN(data::ChunkResult result,
                          reader_.ReadChunk({data::Split::kTest, 0, 0, chunk}, &block_));
    at_end_ = result.end_of_file;
    predictions_.malformed_count += std::ssize(block_.malformed) + result.hidden_line_count;
    line_count_ += result.line_count + result.hidden_line_count;
    for (const std::string& problem : result.problems) {
      if (predictions_.problems.size() < kDescribedProblems)
        predictions_.problems.push_back(problem);
    }
    malformed_ = std::move(result.malformed_lines);
    next_malformed_ = 0;
    const int64_t batch_size = model_.config().data().batch_size();
    for (int64_t begin = 0; begin < block_.row_count(); begin += batch_size) {
      WEIR_RETURN_IF_ERROR(RunBatch(begin, std::min(begin + batch_size, block_.row_count())));
    }
    std::string text;
    AppendMalformedBefore(std::numeric_limits<int64_t>::max(), &text);
    return out_.Write(text);
  }

  Status RunBatch(int64_t begin, int64_t end) {
    WEIR_RETURN_IF_ERROR(CheckInterrupted());
    data::MakeBatch(block_, begin, end, &batch_);
    probabilities_.resize(static_cast<size_t>(end - begin));
    model_.Score(batch_, probabilities_);
    std::string text;
    for (size_t i = 0; i < probabilities_.size(); ++i) {
      const size_t row = static_cast<size_t>(begin) + i;
      AppendMalformedBefore(block_.lines[row], &text);
      text += StrCat(block_.lines[row], ",");
      TakeScore(row, probabilities_[i], &text);
      text += "\n";
    }
    return out_.Write(text);
  }

  void TakeScore(size_t row, float score, std::string* text) {
    if (!std::isfinite(score)) return CountUnscored(row);
    *text += Format("%.9g", score);
    ++predictions_.row_count;
    const float label = block_.labels[row];
    if (std::isnan(label)) return;
    scores_.push_back(score);
    labels_.push_back(label > 0.5f ? 1 : 0);
  }

  // Lines keep their places, so that whoever joins the columns of two files finds the row.
  void AppendMalformedBefore(int64_t line, std::string* text) {
    for (; next_malformed_ < malformed_.size() && malformed_[next_malformed_].first < line;
         ++next_malformed_) {
      const data::TextLines& lines = malformed_[next_malformed_];
      for (int64_t i = lines.first; i <= lines.last; ++i) *text += StrCat(i, ",\n");
    }
  }

  // A row whose values are too large for the model is one more that is malformed.
  void CountUnscored(size_t row) {
    ++predictions_.malformed_count;
    if (predictions_.problems.size() == kDescribedProblems) return;
    predictions_.problems.push_back(
        StrCat(in_, ":", block_.lines[row], ": the model's score of it is not a number"));
  }

  Status CheckMalformed() const {
    const double share = max_malformed_share_;
    const auto malformed = static_cast<double>(predictions_.malformed_count);
    if (predictions_.malformed_count <= kToleratedLines && share > 0 &&
        predictions_.row_count > 0) {
      return OkStatus();
    }
    if (malformed <= share * static_cast<double>(line_count_) && predictions_.row_count > 0) {
      return OkStatus();
    }
    if (predictions_.row_count == 0 && predictions_.malformed_count == 0) {
      return InvalidData(StrCat(in_, " has no rows"));
    }
    return InvalidData(StrCat(predictions_.malformed_count, " of ", line_count_,
                              " lines are malformed, more than a share of ", share,
                              "; mend them, or allow more by --max_malformed_share",
                              predictions_.problems.empty() ? "" : "; the first is ",
                              predictions_.problems.empty() ? "" : predictions_.problems[0]));
  }

  LoadedModel& model_;
  const std::string in_;
  const double max_malformed_share_;
  const std::atomic<bool>& interrupted_;
  data::Reader& reader_;
  OutputFile& out_;
  data::RowBlock block_;
  std::vector<data::TextLines> malformed_;  // of the chunk
  size_t next_malformed_ = 0;
  data::Batch batch_;
  std::vector<float> probabilities_, scores_;
  std::vector<uint8_t> labels_;
  int64_t line_count_ = 0;
  bool at_end_ = false;
  Predictions predictions_;
};

// The reader names the field of a config that the file has for it, which nobody has written here.
Status OfTheFlag(const Status& status) {
  constexpr std::string_view kField = "data.test[0]: ";
  std::string message = status.message();
  if (message.starts_with(kField)) message.replace(0, kField.size(), "--in: ");
  return {status.code(), std::move(message)};
}

}  // namespace

Result<Predictions> Predict(LoadedModel* model, const std::string& in, double max_malformed_share,
                            const std::atomic<bool>& interrupted, OutputFile* out) {
  const v1::Config config = ReadingConfig(model->config(), in);
  auto made = data::MakeReader(config, model->manifest().learned(), data::RowLabels::kOptional);
  if (!made.ok()) return OfTheFlag(made.status());
  const std::unique_ptr<data::Reader> reader = *std::move(made);
  const std::string name = data::NameOf(in, data::Passes::kOne);
  return Predictor(model, name, max_malformed_share, interrupted, reader.get(), out).Run();
}

}  // namespace weir::tools
