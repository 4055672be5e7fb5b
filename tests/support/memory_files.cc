#include "tests/support/memory_files.h"

#include <algorithm>
#include <utility>

#include "common/base/strings.h"

namespace weir::test {
namespace {

std::string FolderOf(const std::string& path) { return path.substr(0, path.rfind('/')); }

bool IsIn(const std::string& path, const std::string& folder) { return FolderOf(path) == folder; }

Status NotThere(const std::string& path) { return NotFound(StrCat("cannot read ", path)); }

}  // namespace

class MemoryFiles::File : public WritableFile {
 public:
  File(MemoryFiles* files, std::string path, std::shared_ptr<Node> node)
      : files_(files), path_(std::move(path)), node_(std::move(node)) {}

  Status Append(std::span<const ByteSpan> parts) override {
    std::lock_guard lock(files_->mutex_);
    const Status status = CheckOwn();
    Bytes& bytes = node_->bytes;
    for (const ByteSpan part : parts) {
      const size_t count = status.ok() ? part.size() : part.size() / 2;
      bytes.insert(bytes.end(), part.begin(), part.begin() + static_cast<ptrdiff_t>(count));
      if (!status.ok()) return status;
    }
    return OkStatus();
  }

  Status Sync() override {
    std::lock_guard lock(files_->mutex_);
    WEIR_RETURN_IF_ERROR(CheckOwn());
    node_->synced = node_->bytes.size();
    return OkStatus();
  }

 private:
  Status CheckOwn() {
    if (node_->process != files_->process_) return Unavailable("the process has ended");
    return files_->Change(path_);
  }

  MemoryFiles* const files_;
  const std::string path_;
  const std::shared_ptr<Node> node_;
};

class MemoryFiles::MemoryClaim : public FolderClaim {
 public:
  MemoryClaim(MemoryFiles* files, std::string folder)
      : files_(files), folder_(std::move(folder)), process_(files->process_) {}
  ~MemoryClaim() override {
    std::lock_guard lock(files_->mutex_);
    if (process_ == files_->process_) files_->claims_.erase(folder_);
  }

 private:
  MemoryFiles* const files_;
  const std::string folder_;
  const uint64_t process_;
};

Status MemoryFiles::Change(const std::string& path) {
  const bool fails = !fails_in_.empty() && path.find(fails_in_) != std::string::npos;
  if (++changes_ < fails_from_ && !fails) return OkStatus();
  return Unavailable(StrCat("cannot write ", path, ": No space left on device"));
}

Result<std::unique_ptr<WritableFile>> MemoryFiles::Create(const std::string& path) {
  std::lock_guard lock(mutex_);
  if (!folders_.contains(FolderOf(path))) return Unavailable(StrCat("cannot write ", path));
  WEIR_RETURN_IF_ERROR(Change(path));
  auto node = std::make_shared<Node>();
  node->process = process_;
  names_[path] = node;
  return std::unique_ptr<WritableFile>(std::make_unique<File>(this, path, std::move(node)));
}

Result<Bytes> MemoryFiles::Read(const std::string& path, uint64_t offset, uint64_t byte_count) {
  std::lock_guard lock(mutex_);
  const auto found = names_.find(path);
  if (found == names_.end()) return NotThere(path);
  const Bytes& bytes = found->second->bytes;
  const size_t first = std::min<size_t>(offset, bytes.size());
  const size_t count = std::min<size_t>(byte_count, bytes.size() - first);
  const auto begin = bytes.begin() + static_cast<ptrdiff_t>(first);
  return Bytes(begin, begin + static_cast<ptrdiff_t>(count));
}

Result<uint64_t> MemoryFiles::Size(const std::string& path) {
  std::lock_guard lock(mutex_);
  const auto found = names_.find(path);
  if (found == names_.end()) return NotThere(path);
  return static_cast<uint64_t>(found->second->bytes.size());
}

Status MemoryFiles::Rename(const std::string& from, const std::string& to) {
  std::lock_guard lock(mutex_);
  const auto found = names_.find(from);
  if (found == names_.end()) return NotThere(from);
  WEIR_RETURN_IF_ERROR(Change(to));
  names_[to] = found->second;
  names_.erase(from);
  return OkStatus();
}

Status MemoryFiles::Remove(const std::string& path) {
  std::lock_guard lock(mutex_);
  WEIR_RETURN_IF_ERROR(Change(path));
  names_.erase(path);
  folders_.erase(path);
  return OkStatus();
}

Status MemoryFiles::MakeFolder(const std::string& path) {
  std::lock_guard lock(mutex_);
  if (folders_.contains(path)) return OkStatus();
  WEIR_RETURN_IF_ERROR(Change(path));
  folders_.insert(path);
  return OkStatus();
}

Status MemoryFiles::SyncFile(const std::string& path) {
  std::lock_guard lock(mutex_);
  const auto found = names_.find(path);
  if (found == names_.end()) return NotThere(path);
  WEIR_RETURN_IF_ERROR(Change(path));
  found->second->synced = found->second->bytes.size();
  return OkStatus();
}

Status MemoryFiles::SyncFolder(const std::string& path) {
  std::lock_guard lock(mutex_);
  WEIR_RETURN_IF_ERROR(Change(path));
  std::erase_if(synced_names_, [&](const auto& name) { return IsIn(name.first, path); });
  for (const auto& [name, node] : names_) {
    if (IsIn(name, path)) synced_names_[name] = node;
  }
  return OkStatus();
}

Result<std::vector<std::string>> MemoryFiles::List(const std::string& folder) {
  std::lock_guard lock(mutex_);
  if (!folders_.contains(folder)) return NotThere(folder);
  std::vector<std::string> names;
  for (const auto& [name, node] : names_) {
    if (IsIn(name, folder)) names.push_back(name.substr(folder.size() + 1));
  }
  return names;
}

Result<std::unique_ptr<FolderClaim>> MemoryFiles::Claim(const std::string& folder) {
  std::lock_guard lock(mutex_);
  if (!folders_.contains(folder)) return NotThere(folder);
  if (!claims_.insert(folder).second) return FailedPrecondition(StrCat(folder, " is claimed"));
  return std::unique_ptr<FolderClaim>(std::make_unique<MemoryClaim>(this, folder));
}

void MemoryFiles::EndProcess() {
  std::lock_guard lock(mutex_);
  ++process_;
  claims_.clear();
}

void MemoryFiles::EndMachine(RandomStream* random) {
  EndProcess();
  std::lock_guard lock(mutex_);
  std::set<std::string> all;
  for (const auto& [name, node] : names_) all.insert(name);
  for (const auto& [name, node] : synced_names_) all.insert(name);
  for (const std::string& name : all) {
    if (random->NextUnit() < 0.5) continue;
    const auto old = synced_names_.find(name);
    if (old == synced_names_.end()) {
      names_.erase(name);
    } else {
      names_[name] = old->second;
    }
  }
  for (const auto& [name, node] : names_) {
    const size_t more = node->bytes.size() - node->synced;
    node->bytes.resize(node->synced + random->NextBelow(more + 1));
    node->synced = node->bytes.size();
  }
  synced_names_ = names_;
}

Bytes* MemoryFiles::Contents(const std::string& path) {
  std::lock_guard lock(mutex_);
  const auto found = names_.find(path);
  return found == names_.end() ? nullptr : &found->second->bytes;
}

}  // namespace weir::test
