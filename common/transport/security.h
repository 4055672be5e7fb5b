// How each process of a run proves who it is: a key pair of CurveZMQ for each, and a list of the
// public keys of all. What is said on a connection is encrypted, and comes from the one of the list
// that it is said to come from. Without security anybody may connect, and is nobody.
//
// Thread rule: KeyList any thread; the others are values.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "common/base/bytes.h"
#include "common/base/mutex.h"
#include "common/base/status.h"

namespace weir::transport {

// Who has a key: "server 1", "trainer 3 stage 1". Empty: nobody that is known.
using PeerName = std::string;

// 32 bytes as 40 characters of Z85 (ZeroMQ RFC 32).
using Key = std::string;

bool IsKey(const std::string& text);
// Of its bytes; empty if those are none.
Key EncodeKey(ByteSpan bytes);

struct KeyPair {
  Key public_key, secret_key;
};

// Drawn anew, from the system's source of randomness. Internal where the ZeroMQ of this machine was
// built without CURVE.
Result<KeyPair> MakeKeyPair();
// Internal as above; InvalidConfig if it is no key.
Result<Key> PublicKeyOf(const Key& secret_key);

class KeyList {
 public:
  using Keys = std::map<PeerName, Key>;
  explicit KeyList(Keys keys) { Replace(std::move(keys)); }

  // From now on these count. Who is not among them any more is nobody.
  void Replace(Keys keys);
  std::optional<Key> KeyOf(const PeerName& name) const;
  // Empty: it is nobody's.
  PeerName NameOf(const Key& public_key) const;

 private:
  mutable Mutex mutex_;
  Keys keys_ WEIR_GUARDED_BY(mutex_);
  std::map<Key, PeerName> names_ WEIR_GUARDED_BY(mutex_);
};

struct Security {
  KeyPair own;
  std::shared_ptr<const KeyList> peers;
};

}  // namespace weir::transport
