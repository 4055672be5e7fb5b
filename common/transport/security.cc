#include "common/transport/security.h"

#include <zmq.h>

#include <array>
#include <utility>

#include "common/base/strings.h"

namespace weir::transport {
namespace {

constexpr size_t kKeyCharacters = 40, kKeyBytes = 32;
using KeyText = std::array<char, kKeyCharacters + 1>;  // with the 0 behind it

Status WithoutCurve(const char* what) {
  return Internal(StrCat("cannot ", what, ": ", zmq_strerror(zmq_errno()),
                         "; this machine's ZeroMQ was built without CURVE"));
}

}  // namespace

bool IsKey(const std::string& text) {
  std::array<uint8_t, kKeyBytes> bytes;
  return text.size() == kKeyCharacters && zmq_z85_decode(bytes.data(), text.c_str()) != nullptr;
}

Key EncodeKey(ByteSpan bytes) {
  if (bytes.size() != kKeyBytes) return {};
  KeyText text = {};
  zmq_z85_encode(text.data(), bytes.data(), bytes.size());
  return text.data();
}

Result<KeyPair> MakeKeyPair() {
  KeyText public_key = {}, secret_key = {};
  if (zmq_curve_keypair(public_key.data(), secret_key.data()) != 0) {
    return WithoutCurve("make a key pair");
  }
  return KeyPair{public_key.data(), secret_key.data()};
}

Result<Key> PublicKeyOf(const Key& secret_key) {
  if (!IsKey(secret_key)) return InvalidConfig("not a key: 40 characters of Z85 are");
  KeyText public_key = {};
  if (zmq_curve_public(public_key.data(), secret_key.c_str()) != 0) {
    return WithoutCurve("find a key's public half");
  }
  return Key(public_key.data());
}

void KeyList::Replace(Keys keys) {
  std::map<Key, PeerName> names;
  for (const auto& [name, key] : keys) names.emplace(key, name);
  const MutexLock lock(mutex_);
  keys_ = std::move(keys);
  names_ = std::move(names);
}

std::optional<Key> KeyList::KeyOf(const PeerName& name) const {
  const MutexLock lock(mutex_);
  const auto found = keys_.find(name);
  if (found == keys_.end()) return std::nullopt;
  return found->second;
}

PeerName KeyList::NameOf(const Key& public_key) const {
  const MutexLock lock(mutex_);
  const auto found = names_.find(public_key);
  return found == names_.end() ? PeerName() : found->second;
}

}  // namespace weir::transport
