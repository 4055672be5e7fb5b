#include "tools/inspect/inspect_folder.h"

#include <algorithm>

#include "common/base/strings.h"
#include "common/saved_model/checkpoint_folder.h"
#include "common/saved_model/saved_model.h"
#include "tools/inspect/data_folder_look.h"
#include "tools/inspect/record_text.h"
#include "tools/inspect/saved_model_look.h"

namespace weir::tools {
namespace {

bool HoldsModel(const std::vector<std::string>& names) {
  return std::ranges::any_of(names, [](const std::string& name) {
    return name == saved_model::kManifestFile || saved_model::IsParametersName(name);
  });
}

Status InspectModel(const std::string& folder, std::ostream& out) {
  out << folder << ": a saved model\n";
  const Status status = InspectSavedModel(folder, out);
  if (!status.ok()) out << "  damaged: " << status.message() << "\n";
  return status;
}

// Each by itself: one that is damaged leaves others to go on from.
Status InspectCheckpoints(const std::string& folder, std::ostream& out) {
  Status damage;
  for (const uint64_t number : saved_model::CheckpointsIn(folder)) {
    damage = Joined(damage, InspectModel(saved_model::CheckpointPath(folder, number), out));
  }
  return damage;
}

Status InspectData(const DataFolderLook& look, const std::string& folder, bool seems_used,
                   std::ostream& out) {
  out << folder << ": the data folder of a server\n";
  if (seems_used) {
    out << "it may be in use: what is written meanwhile may look as if it were torn\n";
  }
  PrintDataFolder(look, out);
  Status damage;
  for (const Status& status : DamageOf(look)) damage = Joined(damage, status);
  return damage;
}

Status ListRecords(FileSystem& files, const std::string& folder, std::ostream& out) {
  return LookAtLog(files, folder,
                   [&](const log::Record& record, uint64_t bytes) {
                     out << RecordText(record, bytes) << "\n";
                   })
      .status();
}

}  // namespace

Status InspectFolder(FileSystem& files, const std::string& folder, const FolderOptions& options,
                     std::ostream& out) {
  WEIR_ASSIGN_OR_RETURN(const auto names, files.List(folder));
  WEIR_ASSIGN_OR_RETURN(const DataFolderLook look, LookAtDataFolder(files, folder));
  const bool holds_model = HoldsModel(names);
  const bool holds_checkpoints = !saved_model::CheckpointsIn(folder).empty();
  if (look.is_empty() && !holds_model && !holds_checkpoints) {
    return NotFound(
        StrCat(folder,
               " is neither the data folder of a server nor a saved model or a folder "
               "of checkpoints (a server whose run has ended well leaves its own empty)"));
  }
  Status status;
  if (!look.is_empty()) status = InspectData(look, folder, options.seems_used, out);
  if (options.lists_records) WEIR_RETURN_IF_ERROR(ListRecords(files, folder, out));
  if (holds_model) status = Joined(status, InspectModel(folder, out));
  if (holds_checkpoints) status = Joined(status, InspectCheckpoints(folder, out));
  return status;
}

}  // namespace weir::tools
