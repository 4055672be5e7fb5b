// How the coordinator has the model saved where servers do that themselves.

#include <utility>

#include "common/base/check.h"
#include "common/base/strings.h"
#include "server/coordinator/coordinator.h"

namespace weir::server {

void Coordinator::ServersSave(std::optional<v1::LearnedColumns> learned) {
  saver_.ServersSave();
  shards_.ServersSave();
  save_.Expect(std::move(learned));
}

void Coordinator::OnPartFailure(const std::string& why) {
  Fail(StrCat(shards_.Name(0), ": ", why));
}

void Coordinator::OnModelFailure(const std::string& why) {
  if (!failed()) saver_.Lose(StrCat(shards_.Name(0), ": ", why));
}

// Later stages may still push for batches that are done.
void Coordinator::CheckSaving(int64_t now_ms) {
  if (!saver_.awaits_servers() || running() || failed()) return;
  if (!save_.has_begun()) {
    if (admission_.stage_count() > 1 && last_words_.AreAwaited(now_ms)) return;
    LOG(INFO) << "the run is over, and the servers save the model";
    save_.Begin();
  }
  const int64_t waited_ms = awaited_parts_.For(save_.progress(), now_ms);
  if (waited_ms <= config_.cluster().join_timeout_ms()) return;
  std::vector<std::string> names;
  for (const uint32_t server : save_.late()) names.push_back(shards_.Name(server));
  if (names.empty()) names.push_back(shards_.Name(0));  // the manifest is left, and it writes that
  saver_.Lose(StrCat(StrJoin(names, ", "), ": nothing more of the model was written for ",
                     waited_ms,
                     " ms (cluster.join_timeout_ms): it is not saved; look at the "
                     "storage of --save"));
}

}  // namespace weir::server
