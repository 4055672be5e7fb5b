// The checkpoints of a run without servers: training stands still while one is written.
//
// Place in the life of a batch: beside all of it.
// Thread rule: the thread that asks for work. Borrows the run's book.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/base/file_system.h"
#include "common/base/status.h"
#include "common/cluster/run_book.h"
#include "common/cluster/saved_parts.h"
#include "common/proto/config.pb.h"
#include "common/proto/saved_model.pb.h"
#include "worker/client/parameter_client.h"

namespace weir::worker {

class EmbeddedCheckpoints {
 public:
  struct Options {
    std::string folder;
    uint64_t least_bytes = 0;  // that one takes
    // Of every manifest: what columns have learned, and where the run's update rules began.
    v1::SavedModelManifest manifest = {};
    // Of the checkpoint that the run goes on from; 0: from none.
    uint64_t begun_with = 0, lineage = 0;
  };
  // Writes the model, by parts, and tells of which steps it is.
  using Save =
      std::function<Result<SavedSteps>(const std::function<Status(ByteSpan frames)>& take)>;

  // config: outlives this.
  EmbeddedCheckpoints(const v1::Config& config, cluster::RunBook* run)
      : config_(config), run_(*run) {}

  // Before the first step: the run goes on from a checkpoint. InvalidData when that is of no use.
  Status Resume(const cluster::PartMap& parts);
  // From now on there are some. FailedPrecondition where another run has the folder.
  Status Start(Options options);
  // Often. wants_one: there is to be one soon.
  void Tick(bool wants_one, int64_t now_ms);
  // Writes the one that training waits for, which goes on then. One that cannot be written is given
  // up, with a warning.
  void Write(const Save& save, int64_t now_ms);

 private:
  Status TryToWrite(const std::string& path, const Save& save);

  const v1::Config& config_;
  cluster::RunBook& run_;
  std::unique_ptr<FolderClaim> claim_;
  std::optional<Options> options_;  // where there are any
  cluster::KeptParts kept_;         // of the run, all that it has saved
  std::optional<int64_t> last_ms_;  // when the last one was written
};

}  // namespace weir::worker
