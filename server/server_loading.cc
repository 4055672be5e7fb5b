// How a server gets its parameters while it answers those who wait for them.

#include <utility>

#include "common/base/check.h"
#include "server/server.h"

namespace weir::server {

void Server::StartLoading() {
  auto loader =
      std::make_unique<Loader>([this](LoadProgress* progress) { return MakeShard(progress); },
                               [this] { transport_->Wake(); }, options_.environment.executor);
  const bool is_prompt = loader->EndsWithin(options_.prompt_ms);
  std::lock_guard lock(mutex_);
  loader_ = std::move(loader);
  tells_loading_ = !is_prompt;
}

Loader::Made Server::MakeShard(LoadProgress* progress) {
  progress->Expect(options_.load_bytes);
  auto shard = std::make_unique<Shard>(config_, layout_, shard_index_, &outbox_,
                                       ShardOptions{.progress = progress,
                                                    .awaits_load = options_.load != nullptr,
                                                    .executor = options_.environment.executor});
  shard->SetLastWords(last_words_);
  if (progress->is_cancelled()) return Interrupted("stopped");
  // What it needs, a file perhaps, goes with it.
  if (const auto load = std::exchange(options_.load, nullptr)) {
    WEIR_RETURN_IF_ERROR(load(shard.get(), progress));
  }
  WEIR_RETURN_IF_ERROR(life_.Recover(
      config_.cluster(), {identity_, shard_index_, run_}, [this] { transport_->Wake(); },
      shard.get(), progress));
  return shard;
}

// What the life before knew, and the log from here on.
void Server::Recover() {
  if (auto recovered = life_.TakeRecovered()) {
    if (recovered->run != 0) run_ = logged_run_ = recovered->run;
    dispatcher_->Restore(*std::move(recovered));
  }
  life_.BeginLog(&dispatcher_->log());
}

Status Server::ClearLog() {
  dispatcher_->log().End();
  return life_.Clear();
}

void Server::LookAtLoader(int64_t now_ms) {
  if (!loader_) return;
  auto made = loader_->Take();
  if (made) return TakeShard(*std::move(made), now_ms);
  const v1::Loading loading = loader_->progress();
  dispatcher_->SetLoading(loading);
  if (coordinator_) coordinator_->OnLoading(0, loading);
}

void Server::TakeShard(Loader::Made made, int64_t now_ms) {
  {
    std::lock_guard lock(mutex_);
    tells_loading_ = false;
    loader_.reset();
  }
  if (!made.ok()) {
    load_failure_ = made.status();
    if (coordinator_) coordinator_->FailToLoad(load_failure_.message(), now_ms);
    return;
  }
  shard_ = *std::move(made);
  is_loaded_ = true;
  LOG(INFO) << "has its parameters";
  dispatcher_->Open(shard_.get());
  Recover();
  if (coordinator_) coordinator_->OnLoaded(0);
}

std::optional<v1::Loading> Server::loading() const {
  std::lock_guard lock(mutex_);
  if (!tells_loading_) return std::nullopt;
  return loader_->progress();
}

}  // namespace weir::server
