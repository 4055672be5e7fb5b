// Where a server keeps what is to outlive it (weir-server --data_dir): its log, and whose that is.
//
// Place in the life of a batch: none; before a server begins, and behind each push.
// Thread rule: thread-compatible. Nobody else writes there while it lives.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/file_system.h"
#include "common/base/status.h"
#include "common/proto/config.pb.h"
#include "common/proto/log.pb.h"

namespace weir::server {

class DataFolder {
 public:
  // Adds what is wrong with the flag --data_dir beside cluster.durability.
  static void CheckFlag(const std::string& flag, const v1::ClusterConfig& config,
                        std::vector<std::string>* problems);

  // Makes it if need be. FailedPrecondition where another process has it, or it holds the log of
  // another run or shard.
  static Result<std::shared_ptr<DataFolder>> Open(FileSystem& files, const std::string& path,
                                                  const v1::RunIdentity& identity, uint32_t shard);

  // What the run has begun with whose log is there: the id of a saved model or checkpoint, 0:
  // nothing. None: there is no log.
  static Result<std::optional<uint64_t>> BegunWith(FileSystem& files, const std::string& path);

  FileSystem& files() const { return files_; }
  const std::string& path() const { return path_; }
  // How the server's last life began; nothing where it had none.
  const std::optional<v1::LogStart>& former() const { return former_; }
  // Whether a former life had this epoch.
  bool Knows(uint64_t epoch) const;
  // How this one begins.
  v1::LogStart StartOf(const v1::RunIdentity& identity, uint32_t shard, uint64_t run,
                       uint64_t nonce, uint64_t epoch) const;

  // The run is over and well: what is there is of no use any more. Where that is cut short the next
  // Open goes on with it.
  Status Clear();

 private:
  DataFolder(FileSystem& files, std::string path) : files_(files), path_(std::move(path)) {}
  Status GoOnClearing();
  Status RemoveAll();
  Status FindFormer();
  Status RemovePartial();
  Status CheckFormer(const v1::RunIdentity& identity, uint32_t shard) const;

  FileSystem& files_;
  const std::string path_;
  std::unique_ptr<FolderClaim> claim_;
  std::optional<v1::LogStart> former_;
};

}  // namespace weir::server
