// PyTorch on the same card, a part of tools/bench/peers/pytorch_gpu.py in one process.
//
// Thread rule: as in peer_script.h; blocks until the script ends.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "tools/bench/section.h"

namespace weir::bench {

class GpuPeer {
 public:
  // Where there is no PyTorch, or it has no card, its lines say so: ours are worth something.
  static Result<GpuPeer> Run(const Options& options, std::vector<std::string> arguments);

  // A line beside its figure of that name, times `scale`, whose name it gets: "gpu/select/copy".
  Line Beside(const std::string& figure, double scale, Line line) const;
  // Its figure, or 0.
  double Value(const std::string& figure) const;
  const std::string& name() const { return name_; }

 private:
  std::string name_ = "PyTorch";
  std::map<std::string, double> values_;
};

}  // namespace weir::bench
