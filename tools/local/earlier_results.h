// What an earlier run left in the directory of a run, aside in DIR/.earlier-results until this one
// has begun to train: a run that fails before, for want of a file or a port, costs nobody his
// results. Nothing is removed but what was moved there.
//
// Thread rule: one thread, which holds the directory's lock.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"

namespace weir::tools {

class EarlierResults {
 public:
  // Of the run and of its trainers: summary.json, metrics.jsonl, config.textproto. What a launcher
  // that was killed has left aside counts, where nothing newer is there. Unavailable, with the
  // path, when that cannot be; all are where they were, then.
  static Result<EarlierResults> SetAside(const std::string& directory);
  EarlierResults(EarlierResults&&) noexcept = default;  // nothing is left to be put back
  EarlierResults& operator=(EarlierResults&&) = delete;
  // Puts them back, unless a trainer has written something since.
  ~EarlierResults();

  // They are of no use any more.
  void Forget();

 private:
  explicit EarlierResults(std::filesystem::path directory) : directory_(std::move(directory)) {}
  Status MoveAll();
  void PutBack();
  void RemoveEmptyFolders();

  std::filesystem::path directory_;
  std::vector<std::filesystem::path> moved_;  // from the directory
};

}  // namespace weir::tools
