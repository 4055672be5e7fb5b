#include "tools/bench/line.h"

namespace weir::bench {

double Line::Ratio() const {
  const double above = better == Better::kMore ? value : peer_value;
  const double below = better == Better::kMore ? peer_value : value;
  return above > 0 && below > 0 ? above / below : 0;
}

}  // namespace weir::bench
