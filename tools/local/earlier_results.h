// What an earlier run left in the directory of a run, aside in DIR/earlier until this one has begun
// to train: a run that fails before, for want of a file or a port, costs nobody his results.
//
// Thread rule: one thread, which holds the directory's lock.
#pragma once

#include <string>
#include <utility>

#include "common/base/status.h"

namespace weir::tools {

class EarlierResults {
 public:
  // Of the run and of its trainers: summary.json, metrics.jsonl, config.textproto. What a launcher
  // that was killed has left aside counts, where nothing newer is there. Unavailable, with the
  // path, when that cannot be.
  static Result<EarlierResults> SetAside(const std::string& directory);
  EarlierResults(EarlierResults&& other) noexcept
      : directory_(std::exchange(other.directory_, std::string())) {}
  EarlierResults& operator=(EarlierResults&&) = delete;
  // Puts them back, unless a trainer has written something since.
  ~EarlierResults();

  // They are of no use any more.
  void Forget();

 private:
  explicit EarlierResults(std::string directory) : directory_(std::move(directory)) {}

  std::string directory_;  // empty: nothing is to be put back
};

}  // namespace weir::tools
