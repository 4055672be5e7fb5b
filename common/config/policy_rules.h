// Which rule of the compression section serves a layer.
//
// The first `layer` rule whose pattern matches wins, else `default`. A table is matched only by a
// pattern that begins with "table/", never by "*" or by the default: without a rule of its own it
// is sent as F32 rows.
//
// Thread rule: any thread.
#pragma once

#include <string_view>

#include "common/proto/config.pb.h"

namespace weir::config {

// pattern: `*` stands for any characters, also none and also '/'; all else for itself.
bool MatchesPattern(std::string_view pattern, std::string_view name);

// Whether the name of a layer, or a pattern, is a table's.
bool IsTable(std::string_view name_or_pattern);

// MatchesPattern, and a table only by a table's pattern.
bool PatternSelectsLayer(std::string_view pattern, std::string_view layer_name);

// layer_name: "bottom/0/weight", "table/C1". The reference is to `compression` or to a constant.
const v1::PolicyRule& RuleForLayer(const v1::CompressionConfig& compression,
                                   std::string_view layer_name);

// The name of a rule's policy as it is written in the config ("dct"); "" when none is chosen.
std::string_view PolicyName(const v1::PolicyRule& rule);

}  // namespace weir::config
