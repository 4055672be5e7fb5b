// Two coordinators that are told the same: one lives on, the other dies after each event and is
// loaded from what was saved of it. They must answer alike, and what is saved of them is the same.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/strings.h"
#include "common/cluster/saved_parts.h"
#include "server/coordinator/coordinator.h"

namespace weir::server {

inline std::string Show(const v1::Header& header) { return header.ShortDebugString(); }
inline std::string Show(const std::optional<v1::Header>& header) {
  return header ? Show(*header) : "nothing";
}
inline std::string Show(bool value) { return value ? "true" : "false"; }
inline std::string Show(const Result<v1::SavedModelManifest>& manifest) {
  return manifest.ok() ? manifest->ShortDebugString() : manifest.status().ToString();
}
inline std::string Show(const std::vector<Coordinator::HeldReply>& replies) {
  std::string text;
  for (const auto& held : replies) text += StrCat(Name(held.seat), held.peer, Show(held.header));
  return text;
}

class TwinCoordinators {
 public:
  using Make = std::function<std::unique_ptr<Coordinator>()>;
  explicit TwinCoordinators(Make make)
      : make_(std::move(make)), lasting_(make_()), mortal_(make_()) {}

  // What both say to it.
  template <typename Call>
  auto Tell(const Call& call) {
    auto answer = call(*lasting_);
    EXPECT_EQ(Show(call(*mortal_)), Show(answer));
    return answer;
  }
  // That says nothing.
  template <typename Call>
  void Do(const Call& call) {
    call(*lasting_);
    call(*mortal_);
  }

  void Save() {
    lasting_->SaveChanges(&of_lasting_);
    mortal_->SaveChanges(&of_mortal_);
    EXPECT_EQ(of_mortal_.parts().size(), of_lasting_.parts().size());
    for (const auto& [name, state] : of_lasting_.parts()) {
      if (name == "run") continue;  // who is asked more often has seen earlier what is due
      const auto found = of_mortal_.parts().find(name);
      const bool is_there = found != of_mortal_.parts().end();
      EXPECT_EQ(is_there ? found->second : Bytes(), state) << name;
    }
  }
  // One of them, after it was saved.
  void Die(int64_t now_ms) {
    mortal_ = make_();
    const Status status = mortal_->Load(of_mortal_.parts(), now_ms);
    EXPECT_TRUE(status.ok()) << status;
  }
  const cluster::PartMap& parts() const { return of_mortal_.parts(); }
  const Coordinator& lasting() const { return *lasting_; }

 private:
  const Make make_;
  std::unique_ptr<Coordinator> lasting_, mortal_;
  cluster::KeptParts of_lasting_, of_mortal_;
};

}  // namespace weir::server
