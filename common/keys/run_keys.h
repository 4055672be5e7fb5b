// How a process of a run proves who it is, as its --keys says: with what is in that folder, of
// which the list may change meanwhile. A process that other machines reach has keys, or says
// --insecure.
//
// Thread rule: any thread.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/transport/security.h"

namespace weir::keys {

// What the flags of a process say of keys.
struct KeyFlags {
  std::string folder;     // --keys, as weir-keygen makes it; empty: there are none
  bool insecure = false;  // --insecure: without keys all the same
  // Addresses where it listens or connects to. Other machines reach those that are not of the
  // loopback, so that keys are due.
  std::vector<std::string> sockets = {};
  size_t server_count = 0;  // of the run; the list has keys of all
};

class RunKeys {
 public:
  // Of a process without --keys.
  RunKeys() = default;
  // Adds what is wrong to the problems.
  static RunKeys Read(const KeyFlags& flags, const transport::PeerName& name,
                      std::vector<std::string>* problems);

  // Nothing without keys.
  std::optional<transport::Security> security() const;
  // With --insecure a line in the log. Call it at the start.
  void WarnIfInsecure() const;
  // The list counts as it is now: who is not on it any more is cut off. One that cannot be read
  // changes nothing. Both with a line in the log.
  void ReadListAgain() const;
  // Calls that; empty without keys.
  std::function<void()> reader() const;

 private:
  std::string folder_;
  transport::PeerName name_;
  transport::KeyPair own_;
  std::shared_ptr<transport::KeyList> list_;
  bool insecure_ = false;
};

}  // namespace weir::keys
