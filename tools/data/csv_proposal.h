// A config for a file of comma-separated values that nobody has described yet: a start, to be
// looked over by whoever knows the data.
//
// Thread rule: any thread.
#pragma once

#include <ostream>
#include <string>

#include "common/base/status.h"
#include "tools/data/csv_sample.h"
#include "tools/data/label_choice.h"
#include "tools/data/proposal.h"

namespace weir::tools {

// Prints what each column holds and what becomes of it, and fills in data.csv, the comments of its
// columns and what of the size is known from them. Fails when no column can be the label, or none
// is left to learn from. label: --label; empty: to be found.
Status ProposeCsv(const std::string& path, const CsvSample& sample, const std::string& label,
                  Proposal* proposal, std::ostream& out);

// Labels that the sample of another file has beside those of the proposal, and that differ from one
// of them by a dot at the end or as numbers are written: added to its side.
void AddLabelsOf(const CsvSample& sample, v1::CsvLabel* label);

}  // namespace weir::tools
