// weir-predict: what a saved model says of new rows.
//
//   weir-predict --model=DIR --in=FILE --out=FILE       "-": standard input, standard output
//   weir-predict --model=DIR --export=FILE.safetensors
//
// Exit codes: 0 done, 1 failed, 2 wrong flags, 130 interrupted.

#include <gflags/gflags.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "common/base/signal_watcher.h"
#include "common/base/strings.h"
#include "common/program/program.h"
#include "common/saved_model/places.h"
#include "tools/model/export_safetensors.h"
#include "tools/model/loaded_model.h"
#include "tools/model/output_file.h"
#include "tools/model/predict.h"
#include "worker/data/file_kind.h"

DEFINE_string(model, "", "folder of a saved model");
DEFINE_string(
    in, "",
    "file of rows in the form that the model was trained on, - for standard input; labels "
    "may miss");
DEFINE_string(out, "", "file for the probabilities, - for standard output: line,probability");
DEFINE_double(max_malformed_share, 0,
              "share of the lines that may be malformed, 0 to 1; not given: the model's "
              "data.max_malformed_share");
DEFINE_string(export, "",
              "writes the model itself, as safetensors with the names of facebookresearch/dlrm");

namespace weir::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* kStandard = "-";  // input or output

constexpr const char* kUsage =
    "what a saved model says of new rows\n"
    "  weir-predict --model=DIR --in=FILE --out=FILE\n"
    "      writes a probability for each row, and tells how good they are when rows have labels\n"
    "  weir-predict --model=DIR --export=FILE.safetensors\n"
    "      writes the model for PyTorch";

bool IsGiven(const char* flag) { return !gflags::GetCommandLineFlagInfoOrDie(flag).is_default; }

Status CheckFlags(const Arguments& arguments) {
  std::vector<std::string> mistakes = UnexpectedArguments(arguments);
  if (FLAGS_model.empty())
    mistakes.push_back("--model is missing; give the folder of a saved model");
  if (FLAGS_in.empty() != FLAGS_out.empty()) {
    mistakes.push_back("--in and --out go together: rows to read and where to write");
  }
  if (FLAGS_in.empty() && FLAGS_export.empty()) {
    mistakes.push_back("say what to do: --in and --out, or --export (see --help)");
  }
  if (FLAGS_export == kStandard) mistakes.push_back("--export: name a file");
  if (FLAGS_out.ends_with(".gz") || FLAGS_out.ends_with(".zst")) {
    mistakes.push_back(
        StrCat("--out: ", FLAGS_out, " would be written unpacked; name it otherwise"));
  }
  if (!(FLAGS_max_malformed_share >= 0 && FLAGS_max_malformed_share <= 1)) {
    mistakes.push_back("--max_malformed_share: 0 to 1");
  }
  return mistakes.empty() ? OkStatus() : InvalidConfig(StrJoin(mistakes, "\n"));
}

void Print(const Predictions& predictions, std::ostream& out) {
  const int64_t malformed = predictions.malformed_count;
  out << "rows        " << predictions.row_count << "\n"
      << "malformed   " << malformed << (malformed > 0 ? ", without a probability\n" : "\n");
  for (const std::string& problem : predictions.problems) out << "  " << problem << "\n";
  if (predictions.labelled_count < predictions.row_count) {
    out << "labels      of " << predictions.labelled_count << " rows; "
        << predictions.row_count - predictions.labelled_count << " have none, or an unknown one"
        << (predictions.metrics ? ", and no part in what follows\n" : "\n");
  }
  if (!predictions.metrics) return;
  out << "logloss     " << Format("%.6f", predictions.metrics->logloss) << "\n"
      << "auc         "
      << (std::isnan(predictions.metrics->auc) ? "undefined: all labels are alike"
                                               : Format("%.6f", predictions.metrics->auc))
      << "\n"
      << "accuracy    " << Format("%.6f", predictions.metrics->accuracy) << "\n";
}

// A model is read while the file is written, and what is written would be no model.
Status CheckOutside(const std::string& flag, const std::string& file) {
  if (file.empty() || !saved_model::LiesIn(file, FLAGS_model)) return OkStatus();
  return InvalidConfig(
      StrCat(flag, ": ", file, " would be in the saved model; name a file elsewhere"));
}

// Nothing is written over what is read, or twice.
Status CheckApart(const std::string& flag, const std::string& file, const std::string& other_flag,
                  const std::string& other) {
  if (file.empty() || other.empty()) return OkStatus();
  if (file == kStandard || other == kStandard) return OkStatus();
  std::error_code error;
  const fs::path path = fs::weakly_canonical(fs::absolute(file, error), error),
                 other_path = fs::weakly_canonical(fs::absolute(other, error), error);
  const bool is_one_path = !path.empty() && path == other_path;
  if (!is_one_path && !fs::equivalent(file, other, error)) return OkStatus();
  return InvalidConfig(
      StrCat(flag, "=", file, " is the file of ", other_flag, "; name another file"));
}

Result<std::unique_ptr<LoadedModel>> Load() {
  const SignalWatcher signals(EndInterrupted);
  return LoadedModel::Load(FLAGS_model);
}

Status Run() {
  WEIR_RETURN_IF_ERROR(CheckApart("--out", FLAGS_out, "--in", FLAGS_in));
  WEIR_RETURN_IF_ERROR(CheckApart("--export", FLAGS_export, "--in", FLAGS_in));
  WEIR_RETURN_IF_ERROR(CheckApart("--export", FLAGS_export, "--out", FLAGS_out));
  WEIR_RETURN_IF_ERROR(CheckOutside("--out", FLAGS_out));
  WEIR_RETURN_IF_ERROR(CheckOutside("--export", FLAGS_export));
  WEIR_ASSIGN_OR_RETURN(const auto model, Load());
  if (!FLAGS_in.empty() && model->config().data().has_synthetic()) {
    return InvalidConfig("the model was trained on made-up rows, which no file holds");
  }
  std::unique_ptr<OutputFile> out;
  if (!FLAGS_in.empty()) {
    WEIR_ASSIGN_OR_RETURN(out, OutputFile::Create(FLAGS_out));
  }
  std::atomic<bool> interrupted = false, reads_stream = false;
  SignalWatcher signals([&] {
    interrupted = true;
    if (!reads_stream) return;
    out->Abandon();  // who gives the rows may be silent for ever
    EndInterrupted();
  });
  if (!FLAGS_export.empty()) {
    WEIR_RETURN_IF_ERROR(ExportSafetensors(*model, FLAGS_export, interrupted));
  }
  if (FLAGS_in.empty()) return OkStatus();
  reads_stream = data::IsStream(FLAGS_in, data::Passes::kOne);
  const double share = IsGiven("max_malformed_share")
                           ? FLAGS_max_malformed_share
                           : model->config().data().max_malformed_share();
  WEIR_ASSIGN_OR_RETURN(const Predictions predictions,
                        Predict(model.get(), FLAGS_in, share, interrupted, out.get()));
  Print(predictions, FLAGS_out == kStandard ? std::cerr : std::cout);
  return std::cout.flush() ? OkStatus() : Unavailable("cannot write to standard output");
}

}  // namespace
}  // namespace weir::tools

int main(int argc, char** argv) {
  return weir::RunProgram({.usage = weir::tools::kUsage,
                           .flags_in = "model/main",
                           .short_of_memory = "the model and its predictions",
                           .check = weir::tools::CheckFlags,
                           .run = [](const auto&) { return weir::tools::Run(); }},
                          argc, argv);
}
