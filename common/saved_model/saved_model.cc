#include "common/saved_model/saved_model.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <set>
#include <utility>

#include "common/base/strings.h"
#include "common/saved_model/manifest.h"
#include "common/saved_model/places.h"
#include "common/store/update_rule.h"
#include "common/wire/checksum.h"

namespace weir::saved_model {
namespace {

constexpr int kMostAttempts = 10;  // to open what is replaced meanwhile

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

}  // namespace

std::string ResidualsFolder(const std::string& directory) {
  return FileIn(WithoutSlashes(directory), kResidualsName);
}

// A run that saves to this place puts another folder there; then what was read may be a file of
// each, or of the older one, which is gone.
Result<std::unique_ptr<SavedModel>> SavedModel::Open(const std::string& directory) {
  const std::string stripped = WithoutSlashes(directory);
  for (int attempt = 1;; ++attempt) {
    const HeldFolder before(stripped);
    auto model = OpenOnce(stripped);
    if (before.IsAt(stripped) || attempt == kMostAttempts) return model;
  }
}

Result<std::unique_ptr<SavedModel>> SavedModel::OpenOnce(const std::string& directory) {
  WEIR_ASSIGN_OR_RETURN(v1::SavedModelManifest manifest,
                        ReadManifest(FileIn(directory, kManifestFile)));
  std::vector<MappedFile> files;
  for (const ParametersFile& file : ParametersFiles(manifest)) {
    WEIR_ASSIGN_OR_RETURN(MappedFile mapped,
                          MappedFile::Open(FileIn(directory, file.name), file.bytes));
    files.push_back(std::move(mapped));
  }
  return std::unique_ptr<SavedModel>(
      new SavedModel(directory, std::move(manifest), std::move(files)));
}

SavedModel::SavedModel(std::string directory, v1::SavedModelManifest manifest,
                       std::vector<MappedFile> files)
    : directory_(std::move(directory)),
      manifest_(std::move(manifest)),
      layout_(std::make_unique<const ModelLayout>(manifest_.config(), 1)),
      files_(std::move(files)) {}

SavedModel::~SavedModel() = default;

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

// What all of the files hold together.
struct SavedModel::Found {
  // With the state of the config's rules.
  explicit Found(const SavedModel& model) {
    const v1::UpdateConfig& update = model.config().update();
    const int64_t dimension = model.layout().embedding_dimension();
    const int64_t row_state = store::MakeUpdateRule(update.rows())->StatePerRow(dimension);
    row_floats = static_cast<size_t>(dimension + row_state);
    element_floats = static_cast<size_t>(store::MakeUpdateRule(update.dense())->StatePerElement());
  }

  size_t element_floats = 0, row_floats = 0;
  std::set<std::pair<uint32_t, int64_t>> pieces;
  bool repeated = false, state_fits = true;
};

Status SavedModel::Visit(const Visitor& visitor) const {
  Found found(*this);
  const std::vector<ParametersFile> files = ParametersFiles(manifest_);
  for (size_t i = 0; i < files.size(); ++i) {
    WEIR_RETURN_IF_ERROR(VisitFile(files[i], files_[i].bytes(), visitor, &found));
  }
  if (!found.repeated && found.pieces.size() == layout_->pieces().size()) return OkStatus();
  return InvalidData(StrCat(FileIn(directory_, files.front().name),
                            files.size() > 1 ? " and those beside it hold " : " holds ",
                            found.pieces.size(), " of ", layout_->pieces().size(),
                            " pieces of the MLPs", found.repeated ? ", some twice" : "",
                            "; the model is incomplete"));
}

Status SavedModel::VisitFile(const ParametersFile& file, ByteSpan bytes, const Visitor& visitor,
                             Found* found) const {
  Progress progress(bytes, visitor);
  const Visitor checking = {
      .advance = [&](uint64_t passed) { return progress.Pass(passed); },
      .piece =
          [&](const SavedPiece& piece) {
            found->repeated |= !found->pieces.emplace(piece.tensor, piece.begin).second;
            found->state_fits &= piece.state.size() == piece.values.size() * found->element_floats;
            if (found->state_fits) visitor.piece(piece);
          },
      .rows =
          [&](const SavedRows& rows) {
            found->state_fits &= rows.row_floats == found->row_floats;
            if (found->state_fits) visitor.rows(rows);
          }};
  const std::string path = FileIn(directory_, file.name);
  if (Status status = VisitFrames(bytes, *layout_, checking); !status.ok()) {
    if (status.code() == StatusCode::kInterrupted) return status;
    return InvalidData(StrCat(path, ": ", status.message()));
  }
  if (progress.checksum() != file.checksum) {
    return InvalidData(StrCat(path, " is not the one that ", kManifestFile,
                              " was written with; copy the whole folder again"));
  }
  if (found->state_fits) return OkStatus();
  return InvalidData(StrCat(path, " has optimizer state of other update rules than ", kManifestFile,
                            "; the two are not of one model"));
}

}  // namespace weir::saved_model
