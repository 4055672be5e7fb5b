#include "common/saved_model/parts.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "common/base/strings.h"

namespace weir::saved_model {
namespace {

constexpr std::string_view kPartPrefix = "parameters-", kPartOf = "-of-", kPartSuffix = ".weir";

bool IsPartNumber(std::string_view text) {
  constexpr size_t kMostDigits = 9;
  return !text.empty() && text.size() <= kMostDigits &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
}

}  // namespace

std::string PartName(uint32_t index, uint32_t count) {
  return StrCat(kPartPrefix, index, kPartOf, count, kPartSuffix);
}

bool IsParametersName(std::string_view name) {
  if (name == kParametersFile) return true;
  if (!name.starts_with(kPartPrefix) || !name.ends_with(kPartSuffix)) return false;
  name.remove_prefix(kPartPrefix.size());
  const size_t of = name.find(kPartOf);
  if (of == std::string_view::npos) return false;
  const std::string_view count = name.substr(of + kPartOf.size());
  return IsPartNumber(name.substr(0, of)) &&
         IsPartNumber(count.substr(0, count.size() - kPartSuffix.size()));
}

std::vector<ParametersFile> ParametersFiles(const v1::SavedModelManifest& manifest) {
  if (manifest.parts().empty()) {
    return {{kParametersFile, manifest.parameter_bytes(), manifest.parameters_checksum()}};
  }
  const auto count = static_cast<uint32_t>(manifest.parts_size());
  std::vector<ParametersFile> files;
  for (const v1::SavedPart& part : manifest.parts()) {
    const auto index = static_cast<uint32_t>(files.size());
    files.push_back({PartName(index, count), part.bytes(), part.checksum()});
  }
  return files;
}

Result<std::unique_ptr<PartWriter>> PartWriter::Create(const std::string& path) {
  WEIR_ASSIGN_OR_RETURN(FileWriter file, FileWriter::Create(path));
  return std::unique_ptr<PartWriter>(new PartWriter(std::move(file)));
}

Result<v1::SavedPart> PartWriter::Finish() {
  WEIR_RETURN_IF_ERROR(file_.Finish());
  v1::SavedPart part;
  part.set_bytes(file_.byte_count());
  part.set_checksum(checksum_.value());
  return part;
}

}  // namespace weir::saved_model
