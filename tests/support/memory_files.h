// A disk for tests, in memory: it forgets what was not synced when its machine ends, and fails when
// a test wants it to.
//
// Thread rule: any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "common/base/file_system.h"
#include "common/base/random.h"

namespace weir::test {

class MemoryFiles : public FileSystem {
 public:
  Result<std::unique_ptr<WritableFile>> Create(const std::string& path) override;
  Result<Bytes> Read(const std::string& path, uint64_t offset, uint64_t byte_count) override;
  Result<uint64_t> Size(const std::string& path) override;
  Status Rename(const std::string& from, const std::string& to) override;
  Status Remove(const std::string& path) override;
  Status MakeFolder(const std::string& path) override;
  Status SyncFile(const std::string& path) override;
  Status SyncFolder(const std::string& path) override;
  Result<std::vector<std::string>> List(const std::string& folder) override;
  Result<std::unique_ptr<FolderClaim>> Claim(const std::string& folder) override;

  // The process that wrote has ended: its claims are gone, and its files can be appended to no
  // more.
  void EndProcess();
  // The machine has: of what was not synced, each file keeps a part from its beginning on, and each
  // name is the old one or the new one, as chance has it.
  void EndMachine(RandomStream* random);

  // Fails every change from the n-th one on, counted from now, until Heal: nothing of it is done,
  // or, of an append, a part.
  void FailFrom(uint64_t change) { fails_from_ = changes_ + change; }
  void Heal() { fails_from_ = UINT64_MAX; }
  bool has_failed() const { return changes_ >= fails_from_; }
  // Nothing can be written whose path has this in it; empty: all can.
  void FailFiles(std::string part) { fails_in_ = std::move(part); }
  uint64_t changes() const { return changes_; }

  // The bytes of a file, to damage.
  Bytes* Contents(const std::string& path);

 private:
  struct Node {
    Bytes bytes;
    size_t synced = 0;
    uint64_t process = 0;
  };
  class File;
  class MemoryClaim;
  using Names = std::map<std::string, std::shared_ptr<Node>>;

  // Counts a change; why it cannot be done.
  Status Change(const std::string& path);

  mutable std::mutex mutex_;
  Names names_, synced_names_;
  std::set<std::string> folders_, claims_;
  std::string fails_in_;
  uint64_t process_ = 1, changes_ = 0, fails_from_ = UINT64_MAX;
};

}  // namespace weir::test
