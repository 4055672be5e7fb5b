#include "tools/data/new_file.h"

#include <filesystem>
#include <system_error>

#include "common/base/strings.h"
#include "worker/data/text_writer.h"

namespace weir::tools {

Status CheckIsNew(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(std::filesystem::symlink_status(path, error))) return OkStatus();
  return InvalidConfig(StrCat(path, " is there already; move it away, or name another file"));
}

Status WriteNewFile(const std::string& path, std::string_view text) {
  WEIR_RETURN_IF_ERROR(CheckIsNew(path));
  WEIR_ASSIGN_OR_RETURN(const auto writer, data::TextWriter::Create(path));
  WEIR_RETURN_IF_ERROR(writer->Write(text));
  return writer->Close();
}

}  // namespace weir::tools
