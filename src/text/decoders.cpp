#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "text/byte_alphabet.h"
#include "text/component.h"
#include "text/utf8.h"

namespace lemnos {
namespace {

using Texts = std::vector<std::string>;

class ByteLevel : public Decoder {
 public:
  Texts decode(Texts tokens) const override {
    std::string bytes;
    for (const std::string& token : tokens) append_bytes(bytes, token);
    return {to_valid_utf8(bytes)};
  }

 private:
  /// A token with a character outside of the alphabet (an added one) stands for itself.
  static void append_bytes(std::string& bytes, const std::string& token) {
    std::string own;
    for (size_t at = 0; at < token.size();) {
      const auto [c, size] = utf8_at(token, at);
      const auto byte = byte_of_stand_in(c);
      if (!byte) {
        bytes += token;
        return;
      }
      own += static_cast<char>(*byte);
      at += size;
    }
    bytes += own;
  }
};

/// Runs of `<0xNN>` become the text they encode, or one U+FFFD for each when they encode none.
class ByteFallback : public Decoder {
 public:
  Texts decode(Texts tokens) const override {
    Texts out;
    std::string run;
    for (std::string& token : tokens) {
      unsigned char byte = 0;
      if (is_byte_token(token, byte)) {
        run += static_cast<char>(byte);
        continue;
      }
      flush(run, out);
      out.push_back(std::move(token));
    }
    flush(run, out);
    return out;
  }

 private:
  static bool is_byte_token(const std::string& token, unsigned char& byte) {
    if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return false;
    const auto [end, error] = std::from_chars(token.data() + 3, token.data() + 5, byte, 16);
    return error == std::errc() && end == token.data() + 5;
  }
  static void flush(std::string& run, Texts& out) {
    if (run.empty()) return;
    if (is_valid_utf8(run)) {
      out.push_back(run);
    } else {
      out.insert(out.end(), run.size(), std::string(kReplacementCharacter));
    }
    run.clear();
  }
};

void replace_all(std::string& text, std::string_view wanted, std::string_view content) {
  std::string out;
  size_t from = 0;
  for (size_t at = text.find(wanted); at != std::string::npos; at = text.find(wanted, from)) {
    out.append(text, from, at - from).append(content);
    from = at + wanted.size();
  }
  text = out.append(text, from);
}

class Metaspace : public Decoder {
 public:
  Metaspace(std::string replacement, PrependScheme scheme)
      : replacement_(std::move(replacement)), first_loses_it_(scheme != PrependScheme::never) {}
  Texts decode(Texts tokens) const override {
    for (std::string& token : tokens)
      replace_all(token, replacement_, &token == &tokens.front() && first_loses_it_ ? "" : " ");
    return tokens;
  }

 private:
  std::string replacement_;
  bool first_loses_it_;
};

class Fuse : public Decoder {
 public:
  Texts decode(Texts tokens) const override {
    std::string all;
    for (const std::string& token : tokens) all += token;
    return {all};
  }
};

/// Cuts up to `start` and `stop` copies of one character off the ends of each token.
class Strip : public Decoder {
 public:
  Strip(std::string content, int64_t start, int64_t stop)
      : content_(std::move(content)), start_(start), stop_(stop) {}
  Texts decode(Texts tokens) const override {
    for (std::string& token : tokens) {
      for (int64_t i = 0; i < start_ && token.starts_with(content_); ++i)
        token.erase(0, content_.size());
      for (int64_t i = 0; i < stop_ && token.ends_with(content_); ++i)
        token.erase(token.size() - content_.size());
    }
    return tokens;
  }

 private:
  std::string content_;
  int64_t start_;
  int64_t stop_;
};

class Replace : public Decoder {
 public:
  Replace(Pattern pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}
  Texts decode(Texts tokens) const override {
    for (std::string& token : tokens) {
      std::string out;
      for (const Span& span : pattern_.find_spans(token))
        out += span.is_match ? content_ : token.substr(span.begin, span.end - span.begin);
      token = std::move(out);
    }
    return tokens;
  }

 private:
  Pattern pattern_;
  std::string content_;
};

class DecoderSequence : public Decoder {
 public:
  explicit DecoderSequence(const Json& json) {
    for (const Json& item : json.at("decoders").as_array())
      if (auto part = make_decoder(item)) parts_.push_back(std::move(part));
  }
  Texts decode(Texts tokens) const override {
    for (const auto& part : parts_) tokens = part->decode(std::move(tokens));
    return tokens;
  }

 private:
  std::vector<std::unique_ptr<const Decoder>> parts_;
};

}  // namespace

std::unique_ptr<const Decoder> make_decoder(const Json& json) {
  if (json.is_null()) return nullptr;
  const std::string& type = json.at("type").as_string();
  if (type == "ByteLevel") return std::make_unique<ByteLevel>();
  if (type == "ByteFallback") return std::make_unique<ByteFallback>();
  if (type == "Metaspace")
    return std::make_unique<Metaspace>(read_character(json, "replacement"),
                                       read_prepend_scheme(json));
  if (type == "Fuse") return std::make_unique<Fuse>();
  if (type == "Strip")
    return std::make_unique<Strip>(read_character(json, "content"), json.at("start").as_integer(),
                                   json.at("stop").as_integer());
  if (type == "Replace")
    return std::make_unique<Replace>(read_pattern(json.at("pattern")),
                                     json.at("content").as_string());
  if (type == "Sequence") return std::make_unique<DecoderSequence>(json);
  fail(ErrorKind::unsupported, "the decoder \"{}\" is not supported", type);
}

}  // namespace lemnos
