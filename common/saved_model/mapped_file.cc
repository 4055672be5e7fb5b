#include "common/saved_model/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "common/base/strings.h"

namespace weir::saved_model {

namespace {

std::string Incomplete(const std::string& path, uint64_t size, uint64_t expected_bytes) {
  return StrCat(path, " has ", size, " bytes, and its manifest says ", expected_bytes,
                "; the model is incomplete: copy the whole folder again");
}

}  // namespace

Result<MappedFile> MappedFile::Open(const std::string& path, uint64_t expected_bytes) {
  std::error_code ignored;  // then open says what is wrong
  if (std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored)) {
    return InvalidData(StrCat(path, " is no file"));  // of a pipe it would wait for the other end
  }
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return InvalidData(
        StrCat(path, " cannot be opened: ", std::strerror(errno), "; copy the whole folder again"));
  }
  struct stat info = {};
  const bool known = fstat(file, &info) == 0;
  const auto size = static_cast<uint64_t>(info.st_size);
  void* memory = MAP_FAILED;
  if (known && size == expected_bytes && size > 0) {
    memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  }
  close(file);
  if (known && size != expected_bytes) return InvalidData(Incomplete(path, size, expected_bytes));
  if (known && size == 0) return MappedFile({});  // of a server that had nothing
  if (memory == MAP_FAILED) return InvalidData(StrCat(path, " cannot be read"));
  return MappedFile(ByteSpan(static_cast<const uint8_t*>(memory), size));
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<uint8_t*>(bytes_.data()), bytes_.size());
}

}  // namespace weir::saved_model
