// Lines of libsvm, "label id:value id:value ...", and of libffm, "label field:id:value ...": the
// ids of each table as a list, weighted by their values. What follows a '#' is a comment.
//
// Place in the life of a batch: read -> **parse** -> batch.
// Thread rule: immutable, any thread; a parser, one thread.
#pragma once

#include <memory>

#include "common/proto/config.pb.h"
#include "worker/data/reader.h"
#include "worker/data/text_reader.h"

namespace weir::data {

// config: data.libsvm, with defaults filled in and valid. Where labels may miss, a line that begins
// with a feature has none.
std::unique_ptr<const TextFormat> MakeLibsvmFormat(const v1::LibsvmConfig& config,
                                                   RowLabels labels = RowLabels::kRequired);

}  // namespace weir::data
