#include "text/token_trie.h"

namespace lemnos {
namespace {

uint64_t edge(uint64_t node, char c) { return node << 8 | static_cast<unsigned char>(c); }

}  // namespace

TokenTrie::TokenTrie(const std::vector<std::pair<std::string, int32_t>>& texts) {
  size_t bytes = 0;
  for (const auto& [text, id] : texts) bytes += text.size();
  edges_ = FlatMap(bytes);
  ids_.assign(1, -1);
  for (const auto& [text, id] : texts) {
    if (text.empty()) continue;
    starts_[static_cast<unsigned char>(text[0])] = true;
    uint32_t node = 0;
    for (char c : text) {
      if (const auto* found = edges_.find(edge(node, c))) {
        node = found->first;
        continue;
      }
      const auto added = static_cast<uint32_t>(ids_.size());
      edges_.set(edge(node, c), added, 0);
      ids_.push_back(-1);
      node = added;
    }
    ids_[node] = id;
  }
}

TokenTrie::Match TokenTrie::longest_at(std::string_view text, size_t begin) const {
  Match longest{begin, begin, -1};
  uint32_t node = 0;
  for (size_t at = begin; at < text.size(); ++at) {
    const auto* found = edges_.find(edge(node, text[at]));
    if (found == nullptr) break;
    node = found->first;
    if (ids_[node] >= 0) longest = {begin, at + 1, ids_[node]};
  }
  return longest;
}

std::vector<TokenTrie::Match> TokenTrie::find_all(std::string_view text) const {
  std::vector<Match> matches;
  for (size_t at = 0; at < text.size();) {
    const bool may_start = starts_[static_cast<unsigned char>(text[at])];
    const Match match = may_start ? longest_at(text, at) : Match{at, at, -1};
    if (match.id >= 0) matches.push_back(match);
    at = match.id >= 0 ? match.end : at + 1;
  }
  return matches;
}

}  // namespace lemnos
