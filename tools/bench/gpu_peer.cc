#include "tools/bench/gpu_peer.h"

#include <optional>
#include <utility>

#include "common/base/strings.h"
#include "tools/bench/peer_script.h"

namespace weir::bench {

Result<GpuPeer> GpuPeer::Run(const Options& options, std::vector<std::string> arguments) {
  if (options.quick) arguments.emplace_back("--quick");
  arguments.push_back(StrCat("--repeats=", options.repeats));
  arguments.push_back("--device=" + options.device);
  const auto result = RunPeerScript(options.peers, "pytorch_gpu.py", arguments);
  GpuPeer peer;
  if (result.ok() && *result) {
    peer.name_ = (*result)->peer;
    peer.values_ = (*result)->values;
  } else if (!result.ok()) {
    peer.name_ = StrCat("not measured: ", result.status().message());
  }
  return peer;
}

double GpuPeer::Value(const std::string& figure) const {
  const auto found = values_.find(figure);
  return found == values_.end() ? 0 : found->second;
}

Line GpuPeer::Beside(const std::string& figure, double scale, Line line) const {
  line.name += "/" + figure;
  line.peer = Value(figure) > 0 ? StrCat(name_, " ", figure) : name_;
  line.peer_value = Value(figure) * scale;
  return line;
}

}  // namespace weir::bench
