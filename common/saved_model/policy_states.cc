#include "common/saved_model/policy_states.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <set>
#include <string_view>

#include "common/base/file_writer.h"
#include "common/base/strings.h"
#include "common/wire/state_frame.h"

namespace weir::saved_model {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kStatesFormat = 1;
constexpr std::string_view kPrefix = "trainer-", kStage = "-stage-", kSuffix = ".weir";
constexpr std::string_view kAside = ".partial";
// Of a name and a rule; many times what they take.
constexpr uint64_t kMaxHeaderBytes = uint64_t{1} << 16;

// Takes a number off the front.
std::optional<uint32_t> TakeNumber(std::string_view* text) {
  uint32_t number = 0;
  const auto end = std::from_chars(text->data(), text->data() + text->size(), number);
  if (end.ec != std::errc()) return std::nullopt;
  text->remove_prefix(static_cast<size_t>(end.ptr - text->data()));
  return number;
}

// Whose file it is; none of ours.
std::optional<uint32_t> TrainerOf(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  const auto trainer = TakeNumber(&name);
  if (trainer && name.starts_with(kStage)) {
    name.remove_prefix(kStage.size());
    if (!TakeNumber(&name)) return std::nullopt;
  }
  return name == kSuffix ? trainer : std::nullopt;
}

// In the order of their names; none when there is no such folder.
Result<std::set<fs::path>> FilesIn(const std::string& folder) {
  std::set<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    files.insert(entry->path());
  }
  if (!error || error == std::errc::no_such_file_or_directory) return files;
  return Unavailable(StrCat(folder, " cannot be read: ", error.message()));
}

Bytes RecordOf(const v1::PolicyStateHeader& header, ByteSpan state) {
  Bytes record;
  ByteWriter writer(record);
  const std::string text = header.SerializeAsString();
  writer.PutVarint(text.size());
  writer.PutRaw(text.data(), text.size());
  writer.PutRaw(state.data(), state.size());
  return record;
}

// is_end: it was the last one, of no layer.
Status TakeRecord(ByteSpan record, uint64_t run, const TakeState& take, bool* is_end) {
  ByteReader reader(record);
  const ByteSpan text = reader.GetSpan(std::min(reader.GetVarint(), kMaxHeaderBytes));
  v1::PolicyStateHeader header;
  if (!reader.ok() || !header.ParseFromArray(text.data(), static_cast<int>(text.size()))) {
    return InvalidData("a policy's state without its header");
  }
  if (header.format() != kStatesFormat) {
    return InvalidData(StrCat("format ", header.format(), "; this program reads ", kStatesFormat));
  }
  if (header.run() != run) {
    return InvalidData("is of another run than the model; remove it, or put the model's there");
  }
  *is_end = header.name().empty();
  return *is_end ? OkStatus() : take(header, reader.GetSpan(reader.remaining()));
}

// A record's frames follow each other, and the records.
Status VisitRecords(ByteSpan bytes, uint64_t run, const TakeState& take) {
  Bytes record;
  uint32_t number = 0, part = 0;
  bool is_end = false;
  for (wire::FrameCursor cursor(bytes); !cursor.done();) {
    WEIR_ASSIGN_OR_RETURN(const wire::FrameView frame, cursor.Next());
    if (part > 0 && frame.header.tensor != number) {
      WEIR_RETURN_IF_ERROR(TakeRecord(record, run, take, &is_end));
      record.clear();
      part = 0;
      ++number;
    }
    if (frame.header.tensor != number) {
      return InvalidData(StrCat("a ", wire::DescribeFrame(frame.header), ", where that of ", number,
                                " was expected"));
    }
    WEIR_RETURN_IF_ERROR(wire::DecodePolicyState(frame, part++, &record));
  }
  if (part > 0) WEIR_RETURN_IF_ERROR(TakeRecord(record, run, take, &is_end));
  return is_end ? OkStatus() : InvalidData("is cut short");
}

Status VisitFile(const fs::path& path, uint64_t run, const TakeState& take) {
  std::error_code error;
  const uintmax_t size = fs::file_size(path, error);
  Bytes bytes(error ? 0 : size);
  std::ifstream file;
  if (!error) file.open(path, std::ios::binary);  // of a pipe, which has no size, it would wait
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (error || !file) return Unavailable(StrCat(path.string(), " cannot be read"));
  const Status status = VisitRecords(bytes, run, take);
  if (status.ok()) return status;
  return InvalidData(StrCat(path.string(), ": ", status.message()));
}

Status Fill(FileWriter* file, uint64_t run,
            const std::function<Status(const TakeState& take)>& states) {
  uint32_t number = 0;
  const auto append = [&](v1::PolicyStateHeader header, ByteSpan state) {
    header.set_format(kStatesFormat);
    header.set_run(run);
    Bytes frames;
    wire::AppendPolicyState(&frames, number++, RecordOf(header, state));
    return file->Append(frames);
  };
  WEIR_RETURN_IF_ERROR(states(append));
  WEIR_RETURN_IF_ERROR(append(v1::PolicyStateHeader(), ByteSpan()));
  return file->Finish();
}

}  // namespace

std::string StatesFileName(uint32_t trainer, std::optional<uint32_t> stage) {
  return StrCat(kPrefix, trainer, stage ? StrCat(kStage, *stage) : std::string(), kSuffix);
}

Status PrepareStatesFolder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return Unavailable(StrCat("cannot make ", folder, ": ", error.message()));
  return access(folder.c_str(), W_OK) == 0 ? OkStatus() : CannotWrite(folder);
}

Status WritePolicyStates(const std::string& folder, const StatesOwner& owner,
                         const std::function<Status(const TakeState& take)>& states) {
  WEIR_RETURN_IF_ERROR(PrepareStatesFolder(folder));
  const fs::path path = fs::path(folder) / StatesFileName(owner.trainer, owner.stage);
  const std::string aside = StrCat(path.string(), kAside);
  WEIR_ASSIGN_OR_RETURN(FileWriter file, FileWriter::Create(aside));
  const Status filled = Fill(&file, owner.run, states);
  std::error_code error;
  if (filled.ok()) {
    fs::rename(aside, path, error);
    if (!error) return SyncFolder(folder);
  }
  std::error_code ignored;
  fs::remove(aside, ignored);
  if (!filled.ok()) return filled;
  return Unavailable(StrCat("cannot write ", path.string(), ": ", error.message()));
}

Status VisitPolicyStates(const std::string& folder, uint32_t trainer, uint64_t run,
                         const TakeState& take) {
  WEIR_ASSIGN_OR_RETURN(const std::set<fs::path> files, FilesIn(folder));
  for (const fs::path& path : files) {
    if (TrainerOf(path.filename().string()) != trainer) continue;
    WEIR_RETURN_IF_ERROR(VisitFile(path, run, take));
  }
  return OkStatus();
}

Result<std::vector<uint32_t>> TrainersWithStates(const std::string& folder) {
  WEIR_ASSIGN_OR_RETURN(const std::set<fs::path> files, FilesIn(folder));
  std::set<uint32_t> trainers;
  for (const fs::path& path : files) {
    if (const auto trainer = TrainerOf(path.filename().string())) trainers.insert(*trainer);
  }
  return std::vector<uint32_t>(trainers.begin(), trainers.end());
}

bool HoldsStatesAlone(const std::string& folder) {
  const auto files = FilesIn(folder);
  return files.ok() && std::ranges::all_of(files.value(), [](const fs::path& path) {
           std::string name = path.filename().string();
           if (name.ends_with(kAside)) name.resize(name.size() - kAside.size());
           return TrainerOf(name).has_value();
         });
}

}  // namespace weir::saved_model
