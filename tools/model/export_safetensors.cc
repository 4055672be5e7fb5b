#include "tools/model/export_safetensors.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <utility>
#include <vector>

#include "common/base/strings.h"
#include "nlohmann/json.hpp"
#include "tools/model/output_file.h"

namespace weir::tools {
namespace {

// A tensor of the file: its name, its shape, and where its values come from.
struct Entry {
  std::string name;
  std::vector<int64_t> shape;
  const TensorSpec* tensor = nullptr;
  const TableSpec* table = nullptr;

  int64_t element_count() const {
    int64_t count = 1;
    for (const int64_t size : shape) count *= size;
    return count;
  }
};

// facebookresearch/dlrm counts a layer and its activation as two, so its layers are even.
void AddMlp(const ModelLayout& layout, const std::string& name, std::span<const uint32_t> weights,
            std::vector<Entry>* entries) {
  for (size_t i = 0; i < weights.size(); ++i) {
    const TensorSpec& weight = layout.tensors()[weights[i]];
    const TensorSpec& bias = layout.tensors()[weights[i] + 1];
    entries->push_back(
        {StrCat(name, ".", 2 * i, ".weight"), {weight.row_count, weight.column_count}, &weight});
    entries->push_back({StrCat(name, ".", 2 * i, ".bias"), {bias.row_count}, &bias});
  }
}

std::vector<Entry> Entries(const ModelLayout& layout) {
  std::vector<Entry> entries;
  for (const TableSpec& table : layout.tables()) {
    entries.push_back({StrCat("emb_l.", table.id, ".weight"),
                       {table.row_count, layout.embedding_dimension()},
                       nullptr,
                       &table});
  }
  AddMlp(layout, "bot_l", layout.bottom_weights(), &entries);
  AddMlp(layout, "top_l", layout.top_weights(), &entries);
  return entries;
}

// Eight bytes of length, and the header padded so that the values are aligned.
std::string Header(const std::vector<Entry>& entries) {
  nlohmann::ordered_json json;
  json["__metadata__"]["format"] = "pt";
  int64_t offset = 0;
  for (const Entry& entry : entries) {
    const int64_t end = offset + entry.element_count() * static_cast<int64_t>(sizeof(float));
    json[entry.name] = {{"dtype", "F32"}, {"shape", entry.shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = json.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const auto length = static_cast<uint64_t>(text.size());
  return std::string(reinterpret_cast<const char*>(&length), sizeof(length)) + text;
}

Status WriteFloats(std::span<const float> values, OutputFile* file) {
  return file->Write(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

Status WriteTable(const LoadedModel& model, const TableSpec& table,
                  const std::atomic<bool>& interrupted, OutputFile* file) {
  std::vector<float> row(static_cast<size_t>(model.layout().embedding_dimension()));
  for (int64_t id = 0; id < table.row_count; ++id) {
    if (interrupted) return Interrupted("interrupted");
    model.ReadRow(table.id, static_cast<uint64_t>(id), row);
    WEIR_RETURN_IF_ERROR(WriteFloats(row, file));
  }
  return OkStatus();
}

// Tables are written whole, however few of their rows training has seen.
Status CheckRoom(const std::vector<Entry>& entries, const std::string& path) {
  double bytes = 0;
  for (const Entry& entry : entries) bytes += 4.0 * static_cast<double>(entry.element_count());
  std::error_code error;
  const auto folder = std::filesystem::absolute(path, error).parent_path();
  const auto space = std::filesystem::space(folder, error);
  if (error || bytes <= static_cast<double>(space.available)) return OkStatus();
  return ResourceExhausted(StrCat(path, " would have ", Format("%.3g", bytes / 1e6), " MB, and ",
                                  Format("%.3g", static_cast<double>(space.available) / 1e6),
                                  " MB are free there: tables are written with all their rows"));
}

}  // namespace

Status ExportSafetensors(const LoadedModel& model, const std::string& path,
                         const std::atomic<bool>& interrupted) {
  const std::vector<Entry> entries = Entries(model.layout());
  WEIR_RETURN_IF_ERROR(CheckRoom(entries, path));
  WEIR_ASSIGN_OR_RETURN(const auto file, OutputFile::Create(path));
  WEIR_RETURN_IF_ERROR(file->Write(Header(entries)));
  for (const Entry& entry : entries) {
    WEIR_RETURN_IF_ERROR(entry.tensor != nullptr
                             ? WriteFloats(model.tensor(*entry.tensor), file.get())
                             : WriteTable(model, *entry.table, interrupted, file.get()));
  }
  return file->Finish();
}

}  // namespace weir::tools
