#include "common/saved_model/saved_model.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <set>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/base/random.h"
#include "common/base/strings.h"
#include "common/saved_model/manifest.h"
#include "common/saved_model/places.h"
#include "common/saved_model/policy_states.h"
#include "common/store/update_rule.h"

namespace weir::saved_model {
namespace {

namespace fs = std::filesystem;

constexpr int kMostAttempts = 10;  // to open what is replaced meanwhile
constexpr const char* kParameters = "parameters.weir";
constexpr const char* kResiduals = "residuals";
// Behind the folder's name, before the number of the process.
constexpr const char* kPartial = ".partial-";
constexpr const char* kResidualsAside = ".residuals-";
// Folders of one name aside.
constexpr int kMostAside = 1000;

std::string File(const std::string& directory, const char* name) {
  return (fs::path(directory) / name).string();
}

// Without slashes at the end, for a name beside it.
std::string Stripped(std::string directory) {
  while (directory.size() > 1 && directory.back() == '/') directory.pop_back();
  return directory;
}

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
    const bool is_residuals = name == kResiduals && HoldsStatesAlone(entry->path().string());
    has_other |= name != kManifestFile && name != kParameters && !is_residuals;
  }
  if (!error && !has_other && (has_manifest || fs::is_empty(directory, error))) return OkStatus();
  return FailedPrecondition(
      StrCat(directory, " is there and ",
             has_manifest ? "holds other files beside a saved model" : "is no saved model",
             "; name another folder"));
}

// A new folder beside the target. One of that name was left by a process of this number that was
// killed, or is another machine's: it may hold all that is left of a model, so it stays.
// This, or with a number behind it what nothing has yet.
std::string FreeName(const std::string& first) {
  std::error_code error;
  std::string name = first;
  for (int number = 2; fs::exists(name, error); ++number) name = StrCat(first, "-", number);
  return name;
}

Result<std::string> MakeAside(const std::string& target) {
  std::error_code error;
  const fs::path parent = fs::path(target).parent_path();
  if (!parent.empty()) fs::create_directories(parent, error);
  if (error) return Unavailable(StrCat("cannot make ", parent.string(), ": ", error.message()));
  const std::string first = StrCat(target, kPartial, static_cast<int64_t>(getpid()));
  for (int number = 1; number <= kMostAside; ++number) {
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
  const fs::path target = Stripped(directory);
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

// Tells a folder from another that takes its place: while it is held, none gets its number.
class HeldFolder {
 public:
  explicit HeldFolder(const std::string& path)
      : file_(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {}
  ~HeldFolder() {
    if (file_ >= 0) close(file_);
  }
  HeldFolder(const HeldFolder&) = delete;
  HeldFolder& operator=(const HeldFolder&) = delete;

  // Whether it is still the one of this path, or was and is none.
  bool IsAt(const std::string& path) const {
    struct stat held = {}, there = {};
    const bool was = file_ >= 0 && fstat(file_, &held) == 0;
    const bool is = stat(path.c_str(), &there) == 0;
    return was == is && held.st_ino == there.st_ino && held.st_dev == there.st_dev;
  }

 private:
  const int file_;
};

Result<ByteSpan> Map(const std::string& path, uint64_t expected_bytes) {
  std::error_code ignored;  // then open says what is wrong
  if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored)) {
    return InvalidData(StrCat(path, " is no file"));  // of a pipe it would wait for the other end
  }
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return InvalidData(StrCat(path, " cannot be opened: ", std::strerror(errno)));
  struct stat info = {};
  const bool known = fstat(file, &info) == 0;
  const auto size = static_cast<uint64_t>(info.st_size);
  void* memory = MAP_FAILED;
  if (known && size == expected_bytes && size > 0) {
    memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  }
  close(file);
  if (known && size != expected_bytes) {
    return InvalidData(StrCat(path, " has ", size, " bytes, and its manifest says ", expected_bytes,
                              "; the model is incomplete"));
  }
  if (memory == MAP_FAILED) return InvalidData(StrCat(path, " cannot be read"));
  return ByteSpan(static_cast<const uint8_t*>(memory), size);
}

}  // namespace

std::string ResidualsFolder(const std::string& directory) {
  return File(Stripped(directory), kResiduals);
}

std::string DescribeLeftAside(const std::string& directory) {
  return DescribeSiblings(directory, {kPartial, kResidualsAside});
}

std::vector<std::string> PartialModels(const std::string& directory) {
  return Siblings(directory, {kPartial});
}

std::string ResidualsAside(const std::string& directory) {
  return FreeName(StrCat(Stripped(directory), kResidualsAside, static_cast<int64_t>(getpid())));
}

Result<std::unique_ptr<Writer>> Writer::Create(const std::string& directory) {
  const std::string target = Stripped(directory);
  WEIR_RETURN_IF_ERROR(CheckReplaceable(target));
  // Of residuals only who starts the run can tell whose they are.
  const std::string left = DescribeSiblings(target, {kPartial});
  if (!left.empty()) LOG(WARNING) << left;
  WEIR_ASSIGN_OR_RETURN(const std::string aside, MakeAside(target));
  WEIR_ASSIGN_OR_RETURN(FileWriter parameters, FileWriter::Create(File(aside, kParameters)));
  return std::unique_ptr<Writer>(new Writer(target, aside, std::move(parameters)));
}

Writer::Writer(std::string directory, std::string aside, FileWriter parameters)
    : directory_(std::move(directory)),
      aside_(std::move(aside)),
      parameters_(std::move(parameters)) {}

Writer::~Writer() { Discard(); }

void Writer::Discard() const {
  std::error_code error;
  if (!finished_) fs::remove_all(aside_, error);
}

Status Writer::Finish(v1::SavedModelManifest manifest) {
  WEIR_RETURN_IF_ERROR(parameters_.Finish());
  manifest.set_id(RandomNonce());
  manifest.set_parameter_bytes(parameters_.byte_count());
  manifest.set_parameters_checksum(checksum_.value());
  WEIR_RETURN_IF_ERROR(WriteManifest(manifest));
  WEIR_RETURN_IF_ERROR(SyncFolder(aside_));
  return Rename();
}

Status Writer::WriteManifest(const v1::SavedModelManifest& manifest) {
  WEIR_ASSIGN_OR_RETURN(FileWriter file, FileWriter::Create(File(aside_, kManifestFile)));
  WEIR_RETURN_IF_ERROR(file.Append(AsBytes(ManifestText(manifest))));
  return file.Finish();
}

// An older folder changes places with the new one and then goes; where the file system cannot do
// that, it makes place first. The model stays under its other name when neither works.
Status Writer::Rename() {
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

// A run that saves to this place puts another folder there; then what was read may be a file of
// each, or of the older one, which is gone.
Result<std::unique_ptr<SavedModel>> SavedModel::Open(const std::string& directory) {
  const std::string stripped = Stripped(directory);
  for (int attempt = 1;; ++attempt) {
    const HeldFolder before(stripped);
    auto model = OpenOnce(stripped);
    if (before.IsAt(stripped) || attempt == kMostAttempts) return model;
  }
}

Result<std::unique_ptr<SavedModel>> SavedModel::OpenOnce(const std::string& directory) {
  WEIR_ASSIGN_OR_RETURN(v1::SavedModelManifest manifest,
                        ReadManifest(File(directory, kManifestFile)));
  WEIR_ASSIGN_OR_RETURN(const ByteSpan parameters,
                        Map(File(directory, kParameters), manifest.parameter_bytes()));
  return std::unique_ptr<SavedModel>(new SavedModel(directory, std::move(manifest), parameters));
}

SavedModel::SavedModel(std::string directory, v1::SavedModelManifest manifest, ByteSpan parameters)
    : directory_(std::move(directory)),
      manifest_(std::move(manifest)),
      layout_(std::make_unique<const ModelLayout>(manifest_.config(), 1)),
      parameters_(parameters) {}

SavedModel::~SavedModel() { munmap(const_cast<uint8_t*>(parameters_.data()), parameters_.size()); }

// What frames were visited of the file: their checksum, and that they need no memory any more,
// where nobody keeps them.
class SavedModel::Progress {
 public:
  Progress(ByteSpan file, const Visitor& visitor) : file_(file), visitor_(visitor) {}

  Status Pass(uint64_t bytes) {
    checksum_.Append(file_.subspan(passed_, bytes));
    passed_ += bytes;
    if (!visitor_.keeps_rows && passed_ - released_ >= kReleasedBytes) Release();
    return visitor_.advance ? visitor_.advance(bytes) : OkStatus();
  }
  uint64_t checksum() const { return checksum_.value(); }

 private:
  static constexpr uint64_t kReleasedBytes = uint64_t{4} << 20;  // at a time; whole pages

  // The file has them still: who looks again reads them again.
  void Release() {
    const uint64_t bytes = (passed_ - released_) / kReleasedBytes * kReleasedBytes;
    madvise(const_cast<uint8_t*>(file_.data() + released_), bytes, MADV_DONTNEED);
    released_ += bytes;
  }

  const ByteSpan file_;
  const Visitor& visitor_;
  uint64_t passed_ = 0, released_ = 0;
  wire::Checksum checksum_;
};

Status SavedModel::Visit(const Visitor& visitor) const {
  const v1::UpdateConfig& update = config().update();
  const int64_t dimension = layout_->embedding_dimension();
  const auto element_floats =
      static_cast<size_t>(store::MakeUpdateRule(update.dense())->StatePerElement());
  const auto row_floats =
      static_cast<size_t>(dimension + store::MakeUpdateRule(update.rows())->StatePerRow(dimension));
  std::set<std::pair<uint32_t, int64_t>> pieces;
  bool repeated = false, state_fits = true;
  Progress progress(parameters_, visitor);
  const Visitor checking = {.advance = [&](uint64_t bytes) { return progress.Pass(bytes); },
                            .piece =
                                [&](const SavedPiece& piece) {
                                  repeated |= !pieces.emplace(piece.tensor, piece.begin).second;
                                  state_fits &=
                                      piece.state.size() == piece.values.size() * element_floats;
                                  if (state_fits) visitor.piece(piece);
                                },
                            .rows =
                                [&](const SavedRows& rows) {
                                  state_fits &= rows.row_floats == row_floats;
                                  if (state_fits) visitor.rows(rows);
                                }};
  const std::string path = File(directory_, kParameters);
  if (Status status = VisitFrames(parameters_, *layout_, checking); !status.ok()) {
    if (status.code() == StatusCode::kInterrupted) return status;
    return InvalidData(StrCat(path, ": ", status.message()));
  }
  if (progress.checksum() != manifest_.parameters_checksum()) {
    return InvalidData(StrCat(path, " is not the one that ", kManifestFile,
                              " was written with; copy the whole folder again"));
  }
  if (!state_fits) {
    return InvalidData(StrCat(path, " has optimizer state of other update rules than ",
                              kManifestFile, "; the two are not of one model"));
  }
  if (!repeated && pieces.size() == layout_->pieces().size()) return OkStatus();
  return InvalidData(StrCat(path, " holds ", pieces.size(), " of ", layout_->pieces().size(),
                            " pieces of the MLPs", repeated ? ", some twice" : "",
                            "; the model is incomplete"));
}

}  // namespace weir::saved_model
