// How many connections come whose other end has not proved who it is, by host, and from which hosts
// no more are to come for now. Private to this folder.
//
// A host has a store of attempts, which fills with time. Each connection takes one, and gives it
// back once it has proved to belong: a host of many trainers is none of too many strangers. Who has
// gone before anybody looked came from nobody knows where, which has a store, too: when that is
// empty, hosts of which somebody is known go before all others.
//
// Thread rule: owner thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "common/transport/connection_filter.h"

namespace weir::transport {

class StrangerBook {
 public:
  // Of one host: at once, and more each second; as many may be open. And open of all hosts.
  static constexpr int64_t kMostAttempts = 256, kAttemptsASecond = 100, kMostOpen = 1024;

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
  struct Host {
    double attempts = kMostAttempts;
    int64_t filled_ms = 0;
    int64_t open = 0, known = 0;  // connections
  };
  struct Connection {
    std::string host;
    bool is_known = false;
  };

  static void Fill(int64_t now_ms, Host* host);
  void Judge(const std::string& name, const Host& host);

  std::map<std::string, Host> hosts_;  // that are not as if they had never come
  std::map<int, Connection> connections_;
  int64_t open_count_ = 0;  // of strangers
  ConnectionRule rule_;
};

}  // namespace weir::transport
