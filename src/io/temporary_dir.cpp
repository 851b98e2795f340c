#include "io/temporary_dir.h"

#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "base/error.h"

namespace lemnos {

TemporaryDir::TemporaryDir(std::string_view prefix) {
  std::string name = (std::filesystem::temp_directory_path() / (std::string(prefix) + "-XXXXXX")).string();
  if (mkdtemp(name.data()) == nullptr)
    fail(ErrorKind::io, "no temporary folder {}: {}", name, std::strerror(errno));
  path_ = name;
}

TemporaryDir::~TemporaryDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace lemnos
