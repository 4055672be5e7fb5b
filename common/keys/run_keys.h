// How a process of a run proves who it is, as its --keys says: with what is in that folder, of
// which the list may change meanwhile.
//
// Thread rule: any thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/transport/security.h"

namespace weir::keys {

class RunKeys {
 public:
  // Of a process without --keys.
  RunKeys() = default;
  // folder: that of --keys, as weir-keygen makes it; empty: there are none. Adds what is wrong with
  // it to the problems.
  static RunKeys Read(const std::string& folder, const transport::PeerName& name,
                      std::vector<std::string>* problems);

  // Nothing without keys.
  std::optional<transport::Security> security() const;
  // The list counts as it is now: who is not on it any more is cut off. One that cannot be read
  // changes nothing. Both with a line in the log.
  void ReadListAgain() const;
  // Calls that; empty without keys.
  std::function<void()> reader() const;

 private:
  std::string folder_;
  transport::KeyPair own_;
  std::shared_ptr<transport::KeyList> list_;
};

}  // namespace weir::keys
