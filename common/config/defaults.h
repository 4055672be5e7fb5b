// Fills in what a config leaves out. The only place that knows a default; the comments in
// common/proto/config.proto repeat them for the reader of a config.
//
// What has no default stays unset and is for validate_config.h to demand: the reader, a policy in a
// rule that is written out, sparsities and thresholds, the learning rate of an update rule that is
// written out.
//
// Thread rule: any thread.
#pragma once

#include <cstdint>

#include "common/proto/config.pb.h"

namespace weir::config {

void FillDefaults(v1::Config* config);
// Of one rule alone.
void FillDefaults(v1::PolicyRule* rule);

// Whether a default depends on data.train_rows. written: before they are filled in.
bool GoesByTrainRows(const v1::UpdateConfig& written);
// From so many data.train_rows on, defaults are the same for all.
int64_t RowsThatMatter(const v1::DataConfig& data);

// Whether the reader that the config chose, or any, gives dense features.
bool HasDenseFeatures(const v1::DataConfig& data);

}  // namespace weir::config
