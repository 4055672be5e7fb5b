#include "tools/inspect/data_folder_look.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "common/base/strings.h"
#include "common/log/segments.h"

namespace weir::tools {
namespace {

constexpr int kMostAttempts = 10;

const v1::LogStart* LastStart(const DataFolderLook& look) {
  for (auto file = look.log.rbegin(); file != look.log.rend(); ++file) {
    if (file->start) return &*file->start;
  }
  for (auto snapshot = look.snapshots.rbegin(); snapshot != look.snapshots.rend(); ++snapshot) {
    if (snapshot->start) return &*snapshot->start;
  }
  return nullptr;
}

void CheckSnapshots(DataFolderLook* look) {
  const v1::LogStart* start = LastStart(*look);
  for (SnapshotLook& snapshot : look->snapshots) {
    if (!snapshot.is_whole()) continue;
    if (const Status same = CheckSameServer(*snapshot.start, *start); !same.ok()) {
      snapshot.status = InvalidData(StrCat(snapshot.snapshot.path, " at byte 0: ", same.message()));
    }
  }
}

Result<DataFolderLook> LookOnce(FileSystem& files, const std::string& folder,
                                const std::vector<std::string>& names) {
  DataFolderLook look;
  std::ranges::copy_if(names, std::back_inserter(look.partial), log::IsPartial);
  WEIR_ASSIGN_OR_RETURN(const auto snapshots, log::FindSnapshots(files, folder));
  for (const log::Snapshot& snapshot : snapshots) {
    look.snapshots.push_back(LookAtSnapshot(files, snapshot));
  }
  WEIR_ASSIGN_OR_RETURN(look.log, LookAtLog(files, folder, [](const auto&, uint64_t) {}));
  CheckSnapshots(&look);
  return look;
}

std::string NameOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string KindsText(const LogFileLook& file) {
  std::vector<std::string> kinds;
  for (const auto& [kind, count] : file.kinds) kinds.push_back(StrCat(count, " ", kind));
  return StrJoin(kinds, ", ");
}

void PrintLogFile(const LogFileLook& file, bool is_last, std::ostream& out) {
  out << NameOf(file.path) << "  " << file.bytes << " bytes, ";
  if (file.is_gone) {
    out << "was removed meanwhile\n";
    return;
  }
  if (file.record_count == 0) out << "no whole record";
  if (file.record_count > 0) {
    out << "records " << file.first_number << " to " << file.last_number() << ": "
        << KindsText(file);
  }
  if (file.start) out << "; life " << file.start->epochs_size();
  out << "\n";
  for (const Status& damage : file.damage) out << "  damaged: " << damage.message() << "\n";
  if (!file.damage.empty() || file.torn_bytes() == 0) return;
  out << "  torn end: " << file.torn_bytes() << " bytes from byte " << file.whole_bytes
      << " on were begun and never promised" << (is_last ? "" : "; the life after left them out")
      << "\n";
}

void PrintSnapshot(const SnapshotLook& look, std::ostream& out) {
  out << NameOf(look.snapshot.path) << "  " << look.bytes << " bytes, ";
  if (look.is_gone) {
    out << "was removed meanwhile\n";
  } else if (!look.status.ok()) {
    out << "not whole\n  damaged: " << look.status.message() << "\n";
  } else {
    std::vector<std::string> steps;
    for (const uint64_t version : look.summary.versions) steps.push_back(StrCat(version));
    out << "whole: after step " << StrJoin(steps, ", ") << ", " << look.section_count
        << " sections, " << look.row_count << " rows\n";
  }
}

// Which run it is may be told by a record behind the start.
uint64_t RunOf(const DataFolderLook& look, const v1::LogStart& start) {
  for (auto file = look.log.rbegin(); file != look.log.rend(); ++file) {
    if (file->run != 0) return file->run;
  }
  return start.run();
}

void PrintWhose(const DataFolderLook& look, const v1::LogStart& start, std::ostream& out) {
  const uint64_t run = RunOf(look, start);
  out << "run         " << (run == 0 ? "not known yet" : StrCat(run)) << "\n"
      << "shard       " << start.shard() << " of " << start.identity().server_count() << "\n"
      << "lives       " << start.epochs_size() << ", epochs";
  for (const uint64_t epoch : start.epochs()) out << " " << epoch;
  out << "\n";
}

void PrintRestart(const Restart& restart, std::ostream& out) {
  out << "a restart   ";
  if (!restart.status.ok()) {
    out << "is refused: " << restart.status.message() << "\n";
  } else if (restart.last_number == 0) {
    out << "begins anew: nothing that is here was promised\n";
  } else {
    out << "goes on from ";
    if (restart.snapshot != nullptr) out << NameOf(restart.snapshot->snapshot.path) << " and ";
    out << restart.record_count << " records, behind record " << restart.last_number << "\n";
  }
}

}  // namespace

Result<DataFolderLook> LookAtDataFolder(FileSystem& files, const std::string& folder) {
  WEIR_ASSIGN_OR_RETURN(auto names, files.List(folder));
  for (int attempt = 1;; ++attempt) {
    auto look = LookOnce(files, folder, names);
    WEIR_ASSIGN_OR_RETURN(auto names_now, files.List(folder));
    if (names_now == names || attempt == kMostAttempts) return look;
    names = std::move(names_now);
  }
}

Restart FindRestart(const DataFolderLook& look) {
  Restart restart;
  for (const SnapshotLook& snapshot : look.snapshots) {
    if (snapshot.is_whole()) restart.snapshot = &snapshot;
  }
  const uint64_t first =
      restart.snapshot == nullptr ? 1 : restart.snapshot->snapshot.last_number + 1;
  restart.last_number = first - 1;
  bool begins = false;
  for (const LogFileLook& file : look.log) {
    if (file.first_number < first || file.is_gone) continue;
    begins |= file.first_number == first;
    restart.record_count += file.record_count;
    restart.last_number = file.last_number();
    if (restart.status.ok() && !file.damage.empty()) restart.status = file.damage.front();
  }
  if (!begins && !(look.log.empty() && look.snapshots.empty())) {
    restart.status = InvalidData(StrCat(
        "the file of the log that begins with record ", first, " is not there",
        restart.snapshot == nullptr ? "" : StrCat(", behind ", restart.snapshot->snapshot.path)));
  }
  return restart;
}

void PrintDataFolder(const DataFolderLook& look, std::ostream& out) {
  if (const v1::LogStart* start = LastStart(look)) PrintWhose(look, *start, out);
  for (const LogFileLook& file : look.log) PrintLogFile(file, &file == &look.log.back(), out);
  for (const SnapshotLook& snapshot : look.snapshots) PrintSnapshot(snapshot, out);
  for (const std::string& name : look.partial) {
    out << name << "  was not finished; the server removes it\n";
  }
  PrintRestart(FindRestart(look), out);
}

std::vector<Status> DamageOf(const DataFolderLook& look) {
  std::vector<Status> damage;
  for (const LogFileLook& file : look.log) {
    damage.insert(damage.end(), file.damage.begin(), file.damage.end());
  }
  for (const SnapshotLook& snapshot : look.snapshots) {
    if (!snapshot.status.ok() && !snapshot.is_gone) damage.push_back(snapshot.status);
  }
  const Status restart = FindRestart(look).status;
  const bool is_told = std::ranges::any_of(
      damage, [&](const Status& status) { return status.message() == restart.message(); });
  if (!restart.ok() && !is_told) damage.push_back(restart);
  return damage;
}

}  // namespace weir::tools
