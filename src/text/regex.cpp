#include "text/regex.h"

#include <pcre2.h>

#include <charconv>

#include "base/error.h"
#include "text/regex_syntax.h"
#include "text/utf8.h"

namespace lemnos {
namespace {

struct CodeDeleter {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
};
struct MatchDataDeleter {
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};
struct CompileContextDeleter {
  void operator()(pcre2_compile_context* context) const { pcre2_compile_context_free(context); }
};

/// Room for the whole match only, enough for every regex; one for each thread.
pcre2_match_data* match_data() {
  thread_local const std::unique_ptr<pcre2_match_data, MatchDataDeleter> data(
      pcre2_match_data_create(1, nullptr));
  return data.get();
}

RegexTarget linked_pcre2() {
  char version[32] = "";
  pcre2_config(PCRE2_CONFIG_UNICODE_VERSION, version);
  int major = 0;
  std::from_chars(version, version + sizeof version, major);
  return {major < 16};
}

std::string error_text(int code) {
  PCRE2_UCHAR text[256];
  pcre2_get_error_message(code, text, sizeof text);
  return reinterpret_cast<const char*>(text);
}

PCRE2_SPTR units(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

}  // namespace

struct Regex::Impl {
  std::string pattern;
  std::unique_ptr<pcre2_code, CodeDeleter> code;

  /// Where the first match at or after `from` lies; false when there is none.
  bool search(std::string_view text, size_t from, Span& found) const {
    const auto run = [&](uint32_t more) {
      return pcre2_match(code.get(), units(text), text.size(), from, PCRE2_NO_UTF_CHECK | more,
                         match_data(), nullptr);
    };
    int rc = run(0);
    if (rc == PCRE2_ERROR_JIT_STACKLIMIT) rc = run(PCRE2_NO_JIT);
    if (rc == PCRE2_ERROR_NOMATCH) return false;
    if (rc < 0)
      fail(ErrorKind::unsupported, "the regex {} gave up on a text: {}", pattern, error_text(rc));
    const PCRE2_SIZE* offsets = pcre2_get_ovector_pointer(match_data());
    found = {offsets[0], offsets[1], true};
    return true;
  }
};

Regex::Regex(std::string_view pattern) : impl_(std::make_unique<Impl>()) {
  const std::string translated = translate_oniguruma(pattern, linked_pcre2());
  const std::unique_ptr<pcre2_compile_context, CompileContextDeleter> context(
      pcre2_compile_context_create(nullptr));
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  int error = 0;
  PCRE2_SIZE at = 0;
  impl_->pattern = std::string(pattern);
  impl_->code.reset(pcre2_compile(units(translated), translated.size(),
                                  PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE, &error, &at,
                                  context.get()));
  if (impl_->code == nullptr)
    fail(ErrorKind::unsupported, "the regex {} cannot be compiled: {} (at {} of {})", pattern,
         error_text(error), at, translated);
  pcre2_jit_compile(impl_->code.get(), PCRE2_JIT_COMPLETE);  // without JIT it is only slower
}

Regex::~Regex() = default;
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;

std::vector<Span> Regex::find_spans(std::string_view text) const {
  std::vector<Span> spans;
  size_t covered = 0;
  size_t from = 0;
  bool any = false;
  Span found{};
  while (from <= text.size() && impl_->search(text, from, found)) {
    if (found.begin == found.end && any && found.end == covered) {
      from += from < text.size() ? utf8_at(text, from).size : 1;
      continue;
    }
    if (covered != found.begin) spans.push_back({covered, found.begin, false});
    spans.push_back(found);
    any = true;
    covered = from = found.end;
  }
  if (covered != text.size()) spans.push_back({covered, text.size(), false});
  return spans;
}

Pattern Pattern::regex(std::string_view pattern) {
  const auto compiled = std::make_shared<const Regex>(pattern);
  return Pattern([compiled](std::string_view text) { return compiled->find_spans(text); });
}

Pattern Pattern::literal(std::string wanted) {
  if (wanted.empty())
    fail(ErrorKind::unsupported, "a pattern that is an empty string is not supported");
  return Pattern([wanted = std::move(wanted)](std::string_view text) {
    std::vector<Span> spans;
    size_t covered = 0;
    for (size_t at = text.find(wanted); at != text.npos; at = text.find(wanted, covered)) {
      if (covered != at) spans.push_back({covered, at, false});
      covered = at + wanted.size();
      spans.push_back({at, covered, true});
    }
    if (covered != text.size()) spans.push_back({covered, text.size(), false});
    return spans;
  });
}

Pattern Pattern::characters(std::function<bool(char32_t)> holds) {
  return Pattern([holds = std::move(holds)](std::string_view text) {
    std::vector<Span> spans;
    size_t covered = 0;
    for (size_t at = 0; at < text.size();) {
      const auto [c, size] = utf8_at(text, at);
      if (holds(c)) {
        if (covered != at) spans.push_back({covered, at, false});
        covered = at + size;
        spans.push_back({at, covered, true});
      }
      at += size;
    }
    if (covered != text.size()) spans.push_back({covered, text.size(), false});
    return spans;
  });
}

Pattern Pattern::runs(std::function<int(char32_t)> kind) {
  return Pattern([kind = std::move(kind)](std::string_view text) {
    std::vector<Span> spans;
    int last = -1;
    for (size_t at = 0; at < text.size();) {
      const auto [c, size] = utf8_at(text, at);
      const int now = kind(c);
      if (now != last) spans.push_back({at, at, now != 0});
      spans.back().end = at += size;
      last = now;
    }
    return spans;
  });
}

}  // namespace lemnos
