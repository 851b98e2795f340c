#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lemnos::data {

/// The files to read, in order: each path as given, a folder as its *.jsonl files sorted by name
/// (not recursive). Error{io} names a path that does not exist or a folder without such files.
std::vector<std::string> expand_data_paths(std::span<const std::string> paths);

/// Calls `row(line, text)` for each line that is not blank, `line` counted from 1. A byte-order
/// mark at the start is skipped. Returns the number of blank lines. Error{io} when it cannot be
/// read, Error{unsupported} saying what it is when it is compressed or of another format.
int64_t for_each_json_line(const std::string& file,
                           const std::function<void(int64_t, std::string_view)>& row);

}  // namespace lemnos::data
