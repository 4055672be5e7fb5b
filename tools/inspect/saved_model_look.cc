#include "tools/inspect/saved_model_look.h"

#include <map>

#include "common/base/strings.h"
#include "common/saved_model/checkpoint_folder.h"
#include "common/saved_model/manifest.h"
#include "common/saved_model/policy_states.h"
#include "common/saved_model/progress_file.h"
#include "common/saved_model/saved_model.h"

namespace weir::tools {
namespace {

void PrintManifest(const v1::SavedModelManifest& manifest, std::ostream& out) {
  const std::string run =
      manifest.run() == 0 ? "of training without servers" : StrCat("of run ", manifest.run());
  out << "model       " << manifest.id() << ", " << run << "\n"
      << "steps       " << manifest.steps() << ", of the rows " << saved_model::RowSteps(manifest)
      << "\n";
}

Status InspectProgress(const std::string& folder, const v1::CheckpointFacts& facts,
                       std::ostream& out) {
  WEIR_ASSIGN_OR_RETURN(const auto parts, saved_model::ReadProgress(folder, facts));
  out << "checkpoint  " << facts.number() << ", behind " << facts.samples() << " samples"
      << (facts.is_end() ? ", the last of its run" : "") << "\n";
  if (facts.has_test_logloss()) out << "logloss     " << facts.test_logloss() << " of the test\n";
  out << saved_model::kProgressFile << "  " << parts.size() << " parts, whole\n";
  return OkStatus();
}

// Reading all of it compares every checksum.
Status InspectParameters(const saved_model::SavedModel& model, std::ostream& out) {
  uint64_t parameter_count = 0;
  std::map<uint32_t, uint64_t> rows_of_tables;
  WEIR_RETURN_IF_ERROR(model.Visit(
      {.piece =
           [&](const saved_model::SavedPiece& piece) { parameter_count += piece.values.size(); },
       .rows =
           [&](const saved_model::SavedRows& rows) {
             rows_of_tables[rows.table] += rows.ids.size();
           }}));
  for (const auto& file : saved_model::ParametersFiles(model.manifest())) {
    out << file.name << "  " << file.bytes << " bytes, whole\n";
  }
  out << "MLPs        " << parameter_count << " parameters\n";
  for (const auto& [table, count] : rows_of_tables) {
    out << "table " << table << "     " << count << " rows\n";
  }
  return OkStatus();
}

Status InspectResiduals(const saved_model::SavedModel& model, std::ostream& out) {
  const std::string folder = model.residuals_folder();
  WEIR_ASSIGN_OR_RETURN(const auto trainers, saved_model::TrainersWithStates(folder));
  for (const uint32_t trainer : trainers) {
    uint64_t count = 0, bytes = 0;
    WEIR_RETURN_IF_ERROR(saved_model::VisitPolicyStates(
        folder, trainer, model.manifest().run(), [&](const auto& /*header*/, ByteSpan state) {
          ++count;
          bytes += state.size();
          return OkStatus();
        }));
    out << "residuals   of trainer " << trainer << ": " << count << " layers and tables, " << bytes
        << " bytes, whole\n";
  }
  return OkStatus();
}

}  // namespace

Status InspectSavedModel(const std::string& folder, std::ostream& out) {
  WEIR_ASSIGN_OR_RETURN(const auto model, saved_model::SavedModel::Open(folder));
  PrintManifest(model->manifest(), out);
  if (model->manifest().has_checkpoint()) {
    WEIR_RETURN_IF_ERROR(InspectProgress(folder, model->manifest().checkpoint(), out));
  }
  WEIR_RETURN_IF_ERROR(InspectParameters(*model, out));
  return InspectResiduals(*model, out);
}

}  // namespace weir::tools
