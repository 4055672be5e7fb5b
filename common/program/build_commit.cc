#include "common/program/build_commit.h"

#include "weir_commit.h"

namespace weir {

std::string BuildCommit() { return WEIR_COMMIT; }

}  // namespace weir
