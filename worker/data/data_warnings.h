// What whoever starts a run should know of its files and of what their columns have learned, before
// anything is trained.
//
// Place in the life of a batch: before it; once a run.
// Thread rule: any thread.
#pragma once

#include <string>
#include <vector>

#include "common/proto/config.pb.h"
#include "common/proto/learned.pb.h"

namespace weir::data {

// A sentence each. data: with defaults filled in, valid, and its files found (input_files.h).
// learned: by the columns of data.csv, if there are any.
std::vector<std::string> Warnings(const v1::DataConfig& data, const v1::LearnedColumns& learned);

}  // namespace weir::data
