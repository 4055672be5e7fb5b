// One measured line of weir-bench: our number, and beside it a peer's or a limit's, measured in the
// same run.
//
// Thread rule: values.
#pragma once

#include <string>
#include <vector>

namespace weir::bench {

enum class Better { kMore, kLess };

struct Line {
  std::string name = {};  // "select/dct_99/1M": section, what, at which size
  double value = 0;       // ours, the median of the repeats unless the section says otherwise
  std::string unit = {};  // "samples/s", "GB/s", "us"
  std::string peer = {};  // what stands beside it: "PyTorch 1.13.1", "memcpy", "raw libzmq"
  double peer_value = 0;  // in the same unit; 0 where the peer could not be measured
  double goal = 0;  // the ratio to reach, for a goal in units that over the peer's value; 0 for
                    // a line that only informs
  Better better = Better::kMore;

  // More is better: value / peer_value, or its inverse where less is better. 0 without a peer.
  double Ratio() const;
};

using Lines = std::vector<Line>;

}  // namespace weir::bench
