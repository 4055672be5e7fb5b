// A server's disk, with the faults of its own that were planted, and as slow as the seed has it.
//
// Thread rule: one thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "tests/simulation/plants.h"
#include "tests/support/memory_files.h"

namespace weir::simulation {

class SimulatedDisk final : public test::MemoryFiles {
 public:
  explicit SimulatedDisk(Plant plant) : plant_(plant) {}

  // Called before anything is synced.
  void OnSync(std::function<void()> call) { on_sync_ = std::move(call); }

  Result<std::unique_ptr<WritableFile>> Create(const std::string& path) override;
  Result<Bytes> Read(const std::string& path, uint64_t offset, uint64_t byte_count) override;
  Status SyncFile(const std::string& path) override;
  Status SyncFolder(const std::string& path) override;

 private:
  class File;
  // Whether that file is safe once it was synced.
  bool Syncs(const std::string& path) const;

  const Plant plant_;
  std::function<void()> on_sync_ = [] {};
  uint64_t reads_ = 0;
};

}  // namespace weir::simulation
