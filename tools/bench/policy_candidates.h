// The policies that the section policies sets beside DCT-DP, each sending about as much.
//
// Thread rule: values.
#pragma once

#include <string>
#include <vector>

#include "common/proto/config.pb.h"

namespace weir::bench {

struct PolicyCandidate {
  std::string name;
  v1::PolicyRule rule;    // without defaults
  double goal;            // of DCT-DP's speed; 0: none
  bool is_exact = false;  // sends as many elements as it is told to
};

// threshold: DCT-DP's at this sparsity, with which fixed ones send about as much.
std::vector<PolicyCandidate> PolicyCandidates(double sparsity, double threshold);

}  // namespace weir::bench
