#include <algorithm>

#include "base/format.h"
#include "cli/command.h"

namespace lemnos::cli {

void print_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) line += format("  {:<{}}", row[i], widths[i]);
    print_line(line.substr(0, line.find_last_not_of(' ') + 1));
  }
}

}  // namespace lemnos::cli
