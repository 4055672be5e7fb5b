// A worker's link and a server of a tiny model in this process, over tcp: for the time that one
// push takes through every thread between the step that sends it and its answer.
//
// Thread rule: one thread at a time. Owns the server's thread.
#pragma once

#include <memory>

#include "common/base/status.h"

namespace weir::bench {

class LinkEnds {
 public:
  static Result<LinkEnds> Make();
  LinkEnds(LinkEnds&&) noexcept;
  ~LinkEnds();

  // A gradient of some elements; returns when it is accepted.
  Status Push();

 private:
  struct Parts;
  explicit LinkEnds(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace weir::bench
