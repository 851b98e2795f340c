#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/flat_map.h"

namespace lemnos {

/// Finds fixed texts in a text: leftmost first, the longest of those that start there.
class TokenTrie {
 public:
  struct Match {
    size_t begin;
    size_t end;
    int32_t id;
  };

  TokenTrie() = default;
  /// Of equal texts the last one counts; empty ones are left out.
  explicit TokenTrie(const std::vector<std::pair<std::string, int32_t>>& texts);

  /// The matches, in order and without overlap.
  std::vector<Match> find_all(std::string_view text) const;

 private:
  /// The longest text that starts at `begin`; id -1 for none.
  Match longest_at(std::string_view text, size_t begin) const;

  FlatMap edges_;             ///< node << 8 | byte -> node
  std::vector<int32_t> ids_;  ///< by node; -1 where no text ends
  std::array<bool, 256> starts_{};
};

}  // namespace lemnos
