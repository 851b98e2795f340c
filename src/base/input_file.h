#pragma once

#include <fstream>
#include <string>

namespace lemnos {

/// Opens a file for reading, or a pipe, which may wait for its writer: the log says so first. Error{io} "cannot read <path>: <reason>" when it cannot be
/// opened or is a folder.
std::ifstream open_input(const std::string& path);

/// All that can be read from `path`; errors as `open_input`.
std::string read_input(const std::string& path);

}  // namespace lemnos
