#include "text/tokenizer.h"
#include "text/utf8.h"

namespace lemnos {

std::string StreamDecoder::text_of(size_t ids) const {
  return tokenizer_.decode(std::span(window_).first(ids), skip_special_tokens_);
}

/// The part handed out last stays in the window: decoders treat the very first token apart.
std::string StreamDecoder::emit(const std::string& text) {
  const size_t shown = text_of(shown_ids_).size();
  window_.erase(window_.begin(), window_.begin() + static_cast<std::ptrdiff_t>(shown_ids_));
  shown_ids_ = window_.size();
  return shown < text.size() ? text.substr(shown) : "";
}

std::string StreamDecoder::push(int32_t id) {
  window_.push_back(id);
  const std::string text = text_of(window_.size());
  const bool may_be_half = text.ends_with(kReplacementCharacter);
  if (may_be_half || text.size() <= text_of(shown_ids_).size()) return "";
  return emit(text);
}

std::string StreamDecoder::finish() { return emit(text_of(window_.size())); }

}  // namespace lemnos
