#include "server/log/data_folder.h"

#include <algorithm>
#include <utility>

#include "common/base/strings.h"
#include "common/log/reader.h"
#include "common/log/record.h"
#include "common/log/segments.h"
#include "common/session/run_identity.h"

namespace weir::server {
namespace {

// Nobody comes back who knew only an earlier one.
constexpr int kMostEpochs = 64;

// Is there while a folder is emptied: a part of a log is none.
std::string OverPath(const std::string& folder) { return StrCat(folder, "/over.weir"); }

// Of the file's first record; nothing where that is not whole.
Result<std::optional<v1::LogStart>> StartIn(FileSystem& files, const std::string& path) {
  WEIR_ASSIGN_OR_RETURN(const Bytes beginning, files.Read(path, 0, log::kPrefixBytes));
  const auto prefix = log::ParsePrefix(beginning);
  WEIR_ASSIGN_OR_RETURN(const uint64_t size, files.Size(path));
  if (!prefix || prefix->byte_count() > size) return std::optional<v1::LogStart>();
  WEIR_ASSIGN_OR_RETURN(const Bytes whole, files.Read(path, 0, prefix->byte_count()));
  auto record = log::ParseRecord(*prefix, whole);
  if (!record || !record->header.has_start()) return std::optional<v1::LogStart>();
  return std::optional(std::move(*record->header.mutable_start()));
}

}  // namespace

void DataFolder::CheckFlag(const std::string& flag, const v1::ClusterConfig& config,
                           std::vector<std::string>* problems) {
  const bool wants_log = config.durability() != v1::NONE;
  if (wants_log && flag.empty()) {
    problems->push_back(StrCat("cluster.durability is ", v1::Durability_Name(config.durability()),
                               ": give --data_dir, a folder of this server's own for its log"));
  }
  if (!wants_log && !flag.empty()) {
    problems->emplace_back(
        "--data_dir: cluster.durability is NONE, so nothing would be written there; choose PROCESS "
        "or MACHINE");
  }
}

Result<std::shared_ptr<DataFolder>> DataFolder::Open(FileSystem& files, const std::string& path,
                                                     const v1::RunIdentity& identity,
                                                     uint32_t shard) {
  std::shared_ptr<DataFolder> folder(new DataFolder(files, path));
  WEIR_RETURN_IF_ERROR(files.MakeFolder(path));
  auto claim = files.Claim(path);
  if (claim.status().code() == StatusCode::kFailedPrecondition) {
    return FailedPrecondition(
        StrCat("--data_dir: another server uses ", path, "; each needs a folder of its own"));
  }
  if (!claim.ok()) return claim.status();
  folder->claim_ = *std::move(claim);
  WEIR_RETURN_IF_ERROR(folder->GoOnClearing());
  WEIR_RETURN_IF_ERROR(folder->FindFormer());
  WEIR_RETURN_IF_ERROR(folder->CheckFormer(identity, shard));
  WEIR_RETURN_IF_ERROR(folder->RemovePartial());
  return folder;
}

Result<std::optional<uint64_t>> DataFolder::BegunWith(FileSystem& files, const std::string& path) {
  DataFolder folder(files, path);
  const bool is_over = files.Size(OverPath(path)).ok();
  if (is_over || !files.List(path).ok()) return std::optional<uint64_t>();
  WEIR_RETURN_IF_ERROR(folder.FindFormer());
  if (!folder.former_) return std::optional<uint64_t>();
  return std::optional<uint64_t>(folder.former_->identity().warm_start());
}

// A life may have ended before its start was written. Where none has one, the log has nothing that
// was promised, or is damaged.
Status DataFolder::FindFormer() {
  WEIR_ASSIGN_OR_RETURN(const auto segments, log::FindSegments(files_, path_));
  for (auto segment = segments.rbegin(); segment != segments.rend(); ++segment) {
    WEIR_ASSIGN_OR_RETURN(former_, StartIn(files_, segment->path));
    if (former_) return OkStatus();
  }
  if (segments.empty()) return OkStatus();
  WEIR_ASSIGN_OR_RETURN(auto reader, log::LogReader::Open(files_, path_, segments[0].first_number));
  WEIR_ASSIGN_OR_RETURN(const auto first, reader.Next());
  if (!first) return OkStatus();
  return InvalidData(StrCat(segments[0].path,
                            " does not say whose it is: its first record is no "
                            "start of a life; remove ",
                            path_, " to begin anew"));
}

Status DataFolder::CheckFormer(const v1::RunIdentity& identity, uint32_t shard) const {
  if (!former_) return OkStatus();
  const uint32_t version = former_->identity().protocol_version();
  if (version != identity.protocol_version()) {
    return FailedPrecondition(
        StrCat("--data_dir: ", path_, " holds the log of another release (protocol version ",
               version, "; this one has ", identity.protocol_version(),
               "); go on with that one, choose another folder, or remove this one"));
  }
  std::string difference = session::DescribeMismatch(former_->identity(), identity);
  if (difference.empty() && former_->shard() != shard) {
    difference = StrCat("it is of shard ", former_->shard());
  }
  if (difference.empty()) return OkStatus();
  return FailedPrecondition(StrCat("--data_dir: ", path_, " holds the log of another run (",
                                   difference, "); choose another folder, or remove this one"));
}

bool DataFolder::Knows(uint64_t epoch) const {
  return former_ && std::ranges::find(former_->epochs(), epoch) != former_->epochs().end();
}

v1::LogStart DataFolder::StartOf(const v1::RunIdentity& identity, uint32_t shard, uint64_t run,
                                 uint64_t nonce, uint64_t epoch) const {
  v1::LogStart start;
  *start.mutable_identity() = identity;
  start.set_shard(shard);
  start.set_run(run);
  start.set_nonce(nonce);
  if (former_) *start.mutable_epochs() = former_->epochs();
  while (start.epochs_size() >= kMostEpochs) start.mutable_epochs()->erase(start.epochs().begin());
  start.add_epochs(epoch);
  return start;
}

// A full disk may have no room for the mark, and is to be emptied nevertheless.
Status DataFolder::Clear() {
  if (files_.Create(OverPath(path_)).ok()) WEIR_RETURN_IF_ERROR(files_.SyncFolder(path_));
  WEIR_RETURN_IF_ERROR(RemoveAll());
  WEIR_RETURN_IF_ERROR(files_.SyncFolder(path_));
  return files_.Remove(OverPath(path_));
}

Status DataFolder::GoOnClearing() {
  if (!files_.Size(OverPath(path_)).ok()) return OkStatus();
  return Clear();
}

Status DataFolder::RemoveAll() {
  WEIR_ASSIGN_OR_RETURN(const auto snapshots, log::FindSnapshots(files_, path_));
  for (const log::Snapshot& snapshot : snapshots) {
    WEIR_RETURN_IF_ERROR(files_.Remove(snapshot.path));
  }
  WEIR_ASSIGN_OR_RETURN(const auto segments, log::FindSegments(files_, path_));
  for (const log::Segment& segment : segments) {
    WEIR_RETURN_IF_ERROR(files_.Remove(segment.path));
  }
  return RemovePartial();
}

// Nobody else writes here, so nobody is at it.
Status DataFolder::RemovePartial() {
  WEIR_ASSIGN_OR_RETURN(const auto names, files_.List(path_));
  for (const std::string& name : names) {
    if (log::IsPartial(name)) WEIR_RETURN_IF_ERROR(files_.Remove(StrCat(path_, "/", name)));
  }
  return OkStatus();
}

}  // namespace weir::server
