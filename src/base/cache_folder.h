#pragma once

#include <filesystem>

namespace lemnos {

/// Where this program keeps what it could make again: $XDG_CACHE_HOME/lemnos, else ~/.cache/lemnos;
/// empty when neither is known. It need not exist.
std::filesystem::path cache_folder();

}  // namespace lemnos
