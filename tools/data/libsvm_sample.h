// What lines of libsvm and libffm hold.
//
// Thread rule: any thread.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>

#include "common/base/status.h"
#include "tools/data/label_choice.h"
#include "tools/data/proposal.h"

namespace weir::tools {

struct LibsvmSample {
  // Lines that are not blank are mostly a number, or a label alone, and words of numbers and
  // colons.
  bool is_libsvm = false;
  bool has_fields = false;  // libffm
  ValueCounts labels;
  int64_t row_count = 0;
  int64_t feature_count = 0;
  uint64_t largest_id = 0, largest_field = 0;
  int64_t query_count = 0;         // words "qid:..."
  int64_t not_a_number_count = 0;  // values "nan", "inf"
};

Result<LibsvmSample> SampleLibsvm(const std::string& path, int64_t line_limit);

// Prints what the sample says, and fills in data.libsvm and what of the size is known. InvalidData
// when the reader would refuse the lines, with what to do.
Status ProposeLibsvm(const std::string& path, const LibsvmSample& sample, Proposal* proposal,
                     std::ostream& out);

}  // namespace weir::tools
