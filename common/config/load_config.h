// From the flags --config and --override to the resolved config that every process of a run starts
// from: overlay (overlay.h), defaults (defaults.h), rules (validate_config.h).
//
// Place in the life of a batch: before it; called once, by the mains.
// Thread rule: any thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/proto/config.pb.h"

namespace weir::config {

// files: protobuf text of v1::Config, overlaid in order. override_text: the same, laid over them
// all; may be empty. The result has every default filled in and is valid for a run with servers (a
// run without them also needs ValidateEmbedded).
//
// InvalidConfig lists every mistake, one a line: "file:line:column: what" where the text is wrong
// (the flag's file is "--override"), else "field.path: what; what to do". The rules of
// validate_config.h are applied when all that is known in the texts parses.
//
// find: if given, is asked once about a result without mistakes, and what it returns is laid over
// everything before defaults are filled in again: how many rows there are to train on, which only
// the data can tell. Not asked where no default depends on that, for it may take long.
Result<v1::Config> LoadConfig(const std::vector<std::string>& files,
                              const std::string& override_text,
                              const std::function<v1::Config(const v1::Config&)>& find = {});

// The resolved config as DIR/config.textproto has it; LoadConfig reads it back unchanged.
std::string ToText(const v1::Config& config);

}  // namespace weir::config
