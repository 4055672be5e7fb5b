// Writes synthetic rows as a Criteo click log: reading the file gives the same inputs as the
// synthetic reader, so long as both have the same rows_per_table.
//
// Place in the life of a batch: before it; weir-data makes input files.
// Thread rule: thread-compatible. Call order: Create Write* Close.
#pragma once

#include <zlib.h>

#include <memory>
#include <string>

#include "common/base/status.h"
#include "worker/data/synthetic.h"

namespace weir::data {

class CriteoWriter {
 public:
  // Gzip-compressed when path ends in .gz. The rows go to a file beside it until Close, so that an
  // interrupted run leaves no half-written path behind.
  static Result<std::unique_ptr<CriteoWriter>> Create(const std::string& path);

  // Without Close, removes what was written.
  ~CriteoWriter();
  CriteoWriter(const CriteoWriter&) = delete;  // owns the open file
  CriteoWriter& operator=(const CriteoWriter&) = delete;

  // row has Criteo's 13 counts and 26 ids below 2^32.
  Status Write(const SyntheticRow& row);

  // Puts the file in its place. Nothing may be called after it.
  Status Close();

 private:
  CriteoWriter(std::string path, std::string partial_path, gzFile file);

  Status Failure() const;

  const std::string path_, partial_path_;
  gzFile file_;  // null after Close
  std::string line_;
};

}  // namespace weir::data
