#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lemnos {

/// A part of a text that a pattern matches, or the gap between two matches.
struct Span {
  size_t begin;
  size_t end;
  bool is_match;
};

/// A pattern with the meaning that the `onig` crate gives it, run by PCRE2. Safe to share by
/// threads.
class Regex {
 public:
  /// Throws Error{unsupported} for constructs not known to mean the same here.
  explicit Regex(std::string_view pattern);
  ~Regex();
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;

  /// Matches and gaps in order, covering valid UTF-8 text wholly. An empty match right behind a
  /// match is skipped.
  std::vector<Span> find_spans(std::string_view text) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// What cuts a text: a regex, a literal text, or the properties of characters.
class Pattern {
 public:
  static Pattern regex(std::string_view pattern);
  static Pattern literal(std::string text);
  /// Each character on its own.
  static Pattern characters(std::function<bool(char32_t)> holds);
  /// Longest runs of one kind; kind 0 does not match.
  static Pattern runs(std::function<int(char32_t)> kind);

  std::vector<Span> find_spans(std::string_view text) const { return find_(text); }

 private:
  using Find = std::function<std::vector<Span>(std::string_view)>;
  explicit Pattern(Find find) : find_(std::move(find)) {}
  Find find_;
};

}  // namespace lemnos
