#include "tools/data/generate.h"

#include <algorithm>

#include "common/base/strings.h"
#include "worker/data/criteo_line.h"
#include "worker/data/criteo_writer.h"
#include "worker/data/synthetic.h"

namespace weir::tools {
namespace {

Status CheckShape(const v1::DataConfig& data) {
  if (!data.has_synthetic()) {
    return InvalidConfig("data: generate writes the synthetic set; choose it with synthetic {}");
  }
  const v1::SyntheticConfig& synthetic = data.synthetic();
  if (synthetic.dense_features() == data::kCriteoDenseCount &&
      synthetic.tables() == data::kCriteoTableCount) {
    return OkStatus();
  }
  return InvalidConfig(StrCat("data.synthetic: a Criteo log has ", data::kCriteoDenseCount,
                              " dense_features and ", data::kCriteoTableCount, " tables, not ",
                              synthetic.dense_features(), " and ", synthetic.tables()));
}

}  // namespace

Status Generate(const v1::Config& config, const GenerateOptions& options, std::ostream& out) {
  WEIR_RETURN_IF_ERROR(CheckShape(config.data()));
  const data::SyntheticSet set(config.data().synthetic());
  int64_t row_count = set.row_count(options.split);
  if (options.row_limit > 0) row_count = std::min(row_count, options.row_limit);
  if (row_count == 0) return InvalidConfig("data.synthetic: the split has no rows to write");

  WEIR_ASSIGN_OR_RETURN(const auto writer, data::CriteoWriter::Create(options.out));
  const auto is_interrupted = [&] {
    return options.interrupted != nullptr && *options.interrupted;
  };
  data::SyntheticRow row;
  double clicks = 0;
  for (int64_t i = 0; i < row_count; ++i) {
    if (is_interrupted()) return Interrupted("interrupted");
    set.MakeRow(options.split, i, &row);
    clicks += row.label;
    WEIR_RETURN_IF_ERROR(writer->Write(row));
  }
  WEIR_RETURN_IF_ERROR(writer->Close());
  const double bayes =
      data::BayesLogloss(config.data().synthetic(), options.split, row_count, is_interrupted);
  if (is_interrupted()) return Interrupted(StrCat("interrupted; ", options.out, " is whole"));
  out << "file           " << options.out << "\n"
      << "rows           " << row_count << "\n"
      << "click rate     " << Format("%.4f", clicks / static_cast<double>(row_count)) << "\n"
      << "Bayes logloss  " << Format("%.5f", bayes) << "\n";
  return OkStatus();
}

}  // namespace weir::tools
