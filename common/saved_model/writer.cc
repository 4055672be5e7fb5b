#include "common/saved_model/writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <initializer_list>
#include <utility>

#include "common/base/check.h"
#include "common/base/random.h"
#include "common/base/strings.h"
#include "common/saved_model/manifest.h"
#include "common/saved_model/places.h"
#include "common/saved_model/policy_states.h"
#include "common/saved_model/progress_file.h"

namespace weir::saved_model {
namespace {

namespace fs = std::filesystem;

// Behind the folder's name, before what tells it from others: the number of the process, or of the
// run.
constexpr const char* kPartial = ".partial-";
constexpr const char* kPartialOfRun = ".partial-run-";
constexpr const char* kResidualsAside = ".residuals-";
// Folders of one name aside.
constexpr int kMostAside = 1000;

// Nothing, an empty folder, or one with files of a saved model and no other may be replaced, but
// not in a model of its own.
Status CheckReplaceable(const std::string& directory) {
  std::error_code error;
  const std::string around = ModelAround(fs::absolute(directory, error).parent_path().string());
  if (!around.empty()) {
    return FailedPrecondition(
        StrCat(directory, " lies in the saved model ", around, "; name a folder elsewhere"));
  }
  if (!fs::exists(fs::symlink_status(directory, error))) return OkStatus();
  if (!fs::is_directory(fs::symlink_status(directory, error))) {
    const bool is_link = fs::is_symlink(fs::symlink_status(directory, error));
    return FailedPrecondition(StrCat(directory, is_link
                                                    ? " is a link; name the folder that it leads to"
                                                    : " is there and is no folder; name another"));
  }
  bool has_manifest = false, has_other = false;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    has_manifest |= name == kManifestFile;
    const bool is_residuals = name == kResidualsName && HoldsStatesAlone(entry->path().string());
    const bool is_ours = name == kManifestFile || name == kProgressFile || IsParametersName(name);
    has_other |= !is_ours && !is_residuals;
  }
  if (!error && !has_other && (has_manifest || fs::is_empty(directory, error))) return OkStatus();
  return FailedPrecondition(
      StrCat(directory, " is there and ",
             has_manifest ? "holds other files beside a saved model" : "is no saved model",
             "; name another folder"));
}

// This, or with a number behind it what nothing has yet.
std::string FreeName(const std::string& first) {
  std::error_code error;
  std::string name = first;
  for (int number = 2; fs::exists(name, error); ++number) name = StrCat(first, "-", number);
  return name;
}

// A new folder of this name, or of one of so many with a number behind it. What has the name
// already was left by a process of this number that was killed, or is another machine's: it may
// hold all that is left of a model, so it stays.
Result<std::string> MakeAside(const std::string& first, int most) {
  std::error_code error;
  const fs::path parent = fs::path(first).parent_path();
  if (!parent.empty()) fs::create_directories(parent, error);
  if (error) return Unavailable(StrCat("cannot make ", parent.string(), ": ", error.message()));
  for (int number = 1; number <= most; ++number) {
    const std::string aside = number == 1 ? first : StrCat(first, "-", number);
    if (fs::create_directory(aside, error)) return aside;
    if (error == std::errc::file_exists || error == std::errc::not_a_directory) error.clear();
    if (error) break;
  }
  return Unavailable(StrCat("cannot make ", first, ": ",
                            error ? error.message() : "too many of its kind are there"));
}

// What is there of names that begin with the folder's and one of the suffixes, in order.
std::vector<std::string> Siblings(const std::string& directory,
                                  std::initializer_list<const char*> suffixes) {
  const fs::path target = WithoutSlashes(directory);
  const std::string name = target.filename().string();
  const fs::path parent = target.has_parent_path() ? target.parent_path() : fs::path(".");
  std::vector<std::string> paths;
  std::error_code error;
  for (fs::directory_iterator entry(parent, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string other = entry->path().filename().string();
    const bool is_ours = std::ranges::any_of(
        suffixes, [&](const char* suffix) { return other.starts_with(StrCat(name, suffix)); });
    if (is_ours) paths.push_back((target.parent_path() / other).string());
  }
  std::ranges::sort(paths);
  return paths;
}

std::string DescribeSiblings(const std::string& directory,
                             std::initializer_list<const char*> suffixes) {
  const std::vector<std::string> paths = Siblings(directory, suffixes);
  if (paths.empty()) return "";
  return StrCat(StrJoin(paths, ", "), paths.size() == 1 ? " is" : " are",
                " there, of a run that was killed or is at work; remove what is of no use");
}

// Where servers of a run write, they may go on.
void RemoveOfTheGone(const std::string& directory) {
  for (const std::string& path : Siblings(directory, {kPartial})) {
    if (path.starts_with(WithoutSlashes(directory) + kPartialOfRun)) continue;
    const auto owner = FolderOwner::InPlaceOfTheGone(path);
    std::error_code error;
    if (!owner) continue;
    fs::remove_all(path, error);
    LOG(INFO) << path << " was left by a process that is gone, and holds no model: it is removed";
  }
}

}  // namespace

std::string DescribeLeftAside(const std::string& directory) {
  return DescribeSiblings(directory, {kPartial, kResidualsAside});
}

std::vector<std::string> PartialModels(const std::string& directory) {
  return Siblings(directory, {kPartial});
}

std::string ResidualsAside(const std::string& directory) {
  return FreeName(
      StrCat(WithoutSlashes(directory), kResidualsAside, static_cast<int64_t>(getpid())));
}

std::string FolderOfRun(const std::string& directory, uint64_t run) {
  constexpr size_t kMostDigits = 17;
  char digits[kMostDigits];
  std::snprintf(digits, sizeof(digits), "%016llx", static_cast<unsigned long long>(run));
  return StrCat(WithoutSlashes(directory), kPartialOfRun, digits);
}

Result<std::unique_ptr<ModelFolder>> ModelFolder::Create(const std::string& directory) {
  const std::string target = WithoutSlashes(directory);
  WEIR_RETURN_IF_ERROR(Look(target));
  return Make(target, StrCat(target, kPartial, static_cast<int64_t>(getpid())), kMostAside);
}

Result<std::unique_ptr<ModelFolder>> ModelFolder::Make(const std::string& target,
                                                       const std::string& first, int most) {
  WEIR_ASSIGN_OR_RETURN(std::string aside, MakeAside(first, most));
  auto owner = FolderOwner::Of(aside);
  return std::unique_ptr<ModelFolder>(new ModelFolder(target, std::move(aside), std::move(owner)));
}

Result<std::unique_ptr<ModelFolder>> ModelFolder::CreateForRun(const std::string& directory,
                                                               uint64_t run) {
  const std::string target = WithoutSlashes(directory);
  WEIR_RETURN_IF_ERROR(Look(target));
  std::string aside = FolderOfRun(directory, run);
  if (auto owner = FolderOwner::InPlaceOfTheGone(aside)) {
    return std::unique_ptr<ModelFolder>(
        new ModelFolder(target, std::move(aside), std::move(owner)));
  }
  return Make(target, aside, 1);
}

Status ModelFolder::Look(const std::string& target) {
  WEIR_RETURN_IF_ERROR(CheckReplaceable(target));
  RemoveOfTheGone(target);
  // Of residuals only who starts the run can tell whose they are.
  const std::string left = DescribeSiblings(target, {kPartial});
  if (!left.empty()) LOG(WARNING) << left;
  return OkStatus();
}

ModelFolder::ModelFolder(std::string directory, std::string aside, std::optional<FolderOwner> owner)
    : directory_(std::move(directory)), aside_(std::move(aside)), owner_(std::move(owner)) {}

ModelFolder::~ModelFolder() { Discard(); }

void ModelFolder::Discard() const {
  std::error_code error;
  if (!finished_) fs::remove_all(aside_, error);
}

// Some file systems do not tell.
Status ModelFolder::CheckRoom(uint64_t least_bytes) const {
  return weir::CheckRoom(aside_, "the model", least_bytes);
}

Status ModelFolder::Finish(v1::SavedModelManifest manifest) {
  WEIR_RETURN_IF_ERROR(CheckFiles(manifest));
  manifest.set_id(RandomNonce());
  WEIR_RETURN_IF_ERROR(WriteManifest(manifest));
  if (owner_) owner_->GiveUp();
  WEIR_RETURN_IF_ERROR(SyncFolder(aside_));
  return Rename();
}

// Another process may have written them, perhaps into a folder of the same name elsewhere.
Status ModelFolder::CheckFiles(const v1::SavedModelManifest& manifest) const {
  for (const ParametersFile& file : ParametersFiles(manifest)) {
    const std::string path = FileIn(aside_, file.name);
    std::error_code error;
    const uintmax_t size = fs::file_size(path, error);
    if (!error && size == file.bytes) continue;
    return FailedPrecondition(StrCat(
        path,
        error ? StrCat(" is not there (", error.message(), ")") : StrCat(" has ", size, " bytes"),
        " where ", file.bytes,
        " bytes were written: all servers need "
        "a --save that leads to one folder, which all of them reach"));
  }
  return OkStatus();
}

Status ModelFolder::WriteManifest(const v1::SavedModelManifest& manifest) {
  WEIR_ASSIGN_OR_RETURN(FileWriter file, FileWriter::Create(FileIn(aside_, kManifestFile)));
  WEIR_RETURN_IF_ERROR(file.Append(AsBytes(ManifestText(manifest))));
  return file.Finish();
}

// An older folder changes places with the new one and then goes; where the file system cannot do
// that, it makes place first. The model stays under its other name when neither works.
Status ModelFolder::Rename() {
  finished_ = true;
  // The run took its time, and others may have put something there.
  if (const Status status = CheckReplaceable(directory_); !status.ok()) {
    return FailedPrecondition(StrCat("the model is in ", aside_, ", for ", status.message()));
  }
  std::error_code error;
  std::string old;
  if (!fs::exists(directory_, error)) {
    fs::rename(aside_, directory_, error);
  } else if (renameat2(AT_FDCWD, aside_.c_str(), AT_FDCWD, directory_.c_str(), RENAME_EXCHANGE) ==
             0) {
    old = aside_;
  } else {
    old = FreeName(directory_ + ".old");
    fs::rename(directory_, old, error);
    if (!error) fs::rename(aside_, directory_, error);
    std::error_code ignored;  // either is there again, or was never away
    if (error) fs::rename(old, directory_, ignored);
  }
  if (error) {
    return Unavailable(StrCat("the model is in ", aside_, " and cannot be renamed to ", directory_,
                              ": ", error.message()));
  }
  const fs::path parent = fs::absolute(directory_).parent_path();
  const Status synced = SyncFolder(parent.string());
  if (synced.ok() && !old.empty()) fs::remove_all(old, error);
  if (synced.ok() || old.empty()) return synced;
  return Unavailable(StrCat(synced.message(), "; the model is in ", directory_,
                            ", and the one that was there in ", old));
}

Result<std::unique_ptr<Writer>> Writer::Create(const std::string& directory) {
  WEIR_ASSIGN_OR_RETURN(auto folder, ModelFolder::Create(directory));
  WEIR_ASSIGN_OR_RETURN(auto parameters,
                        PartWriter::Create(FileIn(folder->path(), kParametersFile)));
  return std::unique_ptr<Writer>(new Writer(std::move(folder), std::move(parameters)));
}

Status Writer::Finish(v1::SavedModelManifest manifest) {
  WEIR_ASSIGN_OR_RETURN(const v1::SavedPart part, parameters_->Finish());
  manifest.set_parameter_bytes(part.bytes());
  manifest.set_parameters_checksum(part.checksum());
  return folder_->Finish(std::move(manifest));
}

}  // namespace weir::saved_model
