// What a Criteo click log holds, what is wrong with it, and what reads it.
//
// Thread rule: any thread.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>

#include "common/base/status.h"
#include "tools/data/proposal.h"

namespace weir::tools {

// Reads the first line_limit lines of the file (0: all) as the reader would, and prints rows,
// malformed lines with the first few reasons, click rate and a line for each column. Fills in
// data.criteo_tsv, and what of the size is known.
Status ProposeCriteo(const std::string& path, int64_t line_limit, Proposal* proposal,
                     std::ostream& out);

// Whether the file begins with lines of such a log.
Result<bool> IsCriteo(const std::string& path);

}  // namespace weir::tools
