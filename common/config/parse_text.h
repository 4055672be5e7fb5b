// One text file, or the --override flag, into a Config, with every mistake in it.
//
// protobuf's parser stops at the first error. A user with three typing errors wants three lines, so
// unknown fields are skipped and noted, and after an error the parse is repeated without the line
// that it is on, as long as that line is a field by itself.
//
// Thread rule: any thread.
#pragma once

#include <string>
#include <vector>

#include "common/proto/config.pb.h"

namespace weir::config {

struct ParsedText {
  v1::Config config;
  // "name:line:column: what is wrong", in the order of the text; lines and columns count from 1.
  std::vector<std::string> mistakes;
  // False when something known did not parse: config then lacks fields that the text has, and rules
  // about required fields would complain about the wrong thing.
  bool whole = true;
};

// name: what the mistakes are prefixed with, a path or "--override".
ParsedText ParseText(const std::string& name, std::string text);

}  // namespace weir::config
