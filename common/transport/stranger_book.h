// How many connections come whose other end has not proved who it is, by host, and from which hosts
// no more are to come for now. Private to this folder.
//
// A host has a store of attempts, which fills with time. Each connection takes one, and gives it
// back once it has proved to belong: a host of many trainers is none of too many strangers. All
// hosts together have another, of which those take, too, that have gone before anybody looked where
// they came from. When that is empty, hosts of which somebody is known, or was a while ago, go
// before all others.
//
// Thread rule: owner thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "common/transport/connection_filter.h"

namespace weir::transport {

class StrangerBook {
 public:
  // Of one host, and of all: at once, and more each second. As many may be open.
  struct Bounds {
    int64_t most, a_second;
  };
  static constexpr Bounds kOfHost = {256, 100}, kOfAll = {1024, 400};

  // A connection has come. host: empty if it has gone already. False: there are too many, and it is
  // to end.
  bool OnCome(int connection, const std::string& host, int64_t now_ms);
  // Its other end has proved to belong.
  void OnKnown(int connection);
  void OnGone(int connection);

  // Who may connect from now on. Call it now and then.
  const ConnectionRule& Rule(int64_t now_ms);
  size_t host_count() const { return hosts_.size(); }

 private:
  struct Store {
    bool has_enough() const;  // half of all is there
    bool has_too_many() const;
    void Fill(int64_t now_ms);

    Bounds bounds;
    int64_t filled_ms = 0;
    double attempts = static_cast<double>(bounds.most);
    int64_t open = 0;  // connections of strangers
  };
  struct Host {
    Store store;
    int64_t known = 0;                     // connections of who belongs
    std::optional<int64_t> known_ms = {};  // when there was one last
  };
  // Whoever belongs comes back to where it was, as a rule.
  static constexpr int64_t kRememberedMs = 600'000;
  struct Connection {
    std::string host;
    bool is_known = false;
  };

  void Judge(const std::string& name, const Host& host);

  Store all_{kOfAll};
  std::map<std::string, Host> hosts_;  // that are not as if they had never come
  std::map<int, Connection> connections_;
  ConnectionRule rule_;
};

}  // namespace weir::transport
