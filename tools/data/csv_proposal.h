// A data {} section for a file of comma-separated values that nobody has described yet: a start, to
// be looked over by whoever knows the data.
//
// Thread rule: pure function, any thread.
#pragma once

#include <string>

#include "common/proto/config.pb.h"
#include "tools/data/csv_sample.h"

namespace weir::tools {

struct CsvProposal {
  v1::DataConfig data;
  std::string label_reason;  // why this column is the label
};

// Numbers of many values become dense, everything else categorical, with tables twice as large as
// the values that were seen. The label is a column of two values: one whose name says so, else the
// last one, else the first one. Without such a column the label is left empty.
CsvProposal ProposeCsv(const std::string& path, const CsvSample& sample);

}  // namespace weir::tools
