#include "text/tokenizer.h"

#include <algorithm>

#include "base/error.h"
#include "base/input_file.h"
#include "base/log.h"
#include "text/added_vocabulary.h"
#include "text/bpe.h"
#include "text/component.h"
#include "text/post_processor.h"
#include "text/special_tokens.h"
#include "text/utf8.h"

namespace lemnos {
namespace {

Json read_json_file(const std::filesystem::path& path) {
  return Json::parse(read_input(path.string()), path.string());
}

Json read_optional_json_file(const std::filesystem::path& path) {
  return std::filesystem::exists(path) ? read_json_file(path) : Json();
}

const Json& field_or_null(const Json& json, std::string_view key) {
  static const Json null;
  const Json* found = json.find(key);
  return found == nullptr ? null : *found;
}

constexpr const char* kHowToMake = "load the tokenizer with AutoTokenizer and save it again to make the file";

/// "model", which alone must be there.
const Json& model_of(const Json& json) {
  const Json* model = json.find("model");
  if (model != nullptr && model->is_object()) return *model;
  const std::string found = !json.is_object() ? format("the file holds {}", json.type_name())
                            : model == nullptr ? "it is missing" : format("it is {}", model->type_name());
  fail(ErrorKind::corrupt_input, "{}, expected an object with the vocabulary and the merges; {}", found, kHowToMake);
}

/// What `make` reads from a part that may be null or absent; errors name the part.
template <typename Make>
auto section(const Json& json, const char* key, Make make) {
  return in_place(key, [&] { return make(field_or_null(json, key)); });
}

}  // namespace

struct Tokenizer::Impl {
  explicit Impl(const Json& json)
      : model(in_place("model", [&] { return Bpe(model_of(json)); })),
        normalizer(section(json, "normalizer", make_normalizer)),
        pre_tokenizer(section(json, "pre_tokenizer", make_pre_tokenizer)),
        post_processor(section(json, "post_processor", read_post_processor)),
        decoder(section(json, "decoder", make_decoder)) {}

  void add_tokens(const Json& json);
  void add_special_tokens(const Json& json, const TokenizerSideFiles& side_files);
  std::optional<int32_t> token_to_id(std::string_view token) const;
  const std::string* id_to_token(int32_t id) const;
  std::optional<int32_t> id_of(const std::optional<std::string>& token) const {
    return token ? token_to_id(*token) : std::nullopt;
  }

  Bpe model;
  std::unique_ptr<const Normalizer> normalizer;
  std::unique_ptr<const PreTokenizer> pre_tokenizer;
  PostProcessor post_processor;
  std::unique_ptr<const Decoder> decoder;
  AddedVocabulary added;
  SpecialTokens special;
};

void Tokenizer::Impl::add_tokens(const Json& json) {
  std::vector<AddedToken> tokens;
  const Json& entries = field_or_null(json, "added_tokens");
  if (!entries.is_null()) {
    const std::span<const Json> listed = in_place("added_tokens", [&] { return std::span(entries.as_array()); });
    for (const Json& entry : listed)
      tokens.push_back(in_place(format("added_tokens[{}]", tokens.size()), [&] { return read_added_token(entry); }));
  }
  added.add(tokens, model);
  for (size_t i = 0; i < tokens.size(); ++i) {
    const int64_t written =
        in_place(format("added_tokens[{}]: id", i), [&] { return entries.as_array()[i].at("id").as_integer(); });
    const auto id = token_to_id(tokens[i].content);
    if (id && *id != written)
      log_warning(
          "tokenizer.json gives the added token \"{}\" the id {}, but it gets {}, as in the "
          "tokenizers package",
          tokens[i].content, written, *id);
  }
}

void Tokenizer::Impl::add_special_tokens(const Json& json, const TokenizerSideFiles& side_files) {
  special = read_special_tokens(side_files, added.tokens(), field_or_null(json, "padding"));
  added.add(special.to_add, model);
  added.index(normalizer.get());
}

std::optional<int32_t> Tokenizer::Impl::token_to_id(std::string_view token) const {
  const auto id = added.token_to_id(token);
  return id ? id : model.token_to_id(token);
}

const std::string* Tokenizer::Impl::id_to_token(int32_t id) const {
  const std::string* token = added.id_to_token(id);
  return token != nullptr ? token : model.id_to_token(id);
}

Tokenizer::Tokenizer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::~Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;

Tokenizer Tokenizer::load(const std::filesystem::path& model_dir) {
  const std::filesystem::path file = model_dir / "tokenizer.json";
  if (!std::filesystem::exists(file))
    fail(ErrorKind::io,
         "{} is not there: the model folder needs the file of a fast Hugging Face tokenizer ({})", file.string(), kHowToMake);
  TokenizerSideFiles side_files;
  side_files.tokenizer_config = read_optional_json_file(model_dir / "tokenizer_config.json");
  side_files.special_tokens_map = read_optional_json_file(model_dir / "special_tokens_map.json");
  side_files.added_tokens = read_optional_json_file(model_dir / "added_tokens.json");
  const Json json = read_json_file(file);
  return in_place(model_dir.string(), [&] { return from_json(json, side_files); });
}

Tokenizer Tokenizer::from_json(const Json& tokenizer_json, const TokenizerSideFiles& side_files) {
  auto impl = in_place("tokenizer.json", [&] {
    auto made = std::make_unique<Impl>(tokenizer_json);
    made->add_tokens(tokenizer_json);
    return made;
  });
  in_place("tokenizer_config.json and the files beside it", [&] { impl->add_special_tokens(tokenizer_json, side_files); });
  return Tokenizer(std::move(impl));
}

std::vector<int32_t> Tokenizer::encode(std::string_view text, bool add_special_tokens) const {
  std::string repaired;
  if (!is_valid_utf8(text)) text = repaired = to_valid_utf8(text);
  Pieces pieces = impl_->added.extract(text, impl_->normalizer.get());
  if (impl_->pre_tokenizer != nullptr) impl_->pre_tokenizer->pre_tokenize(pieces);
  std::vector<int32_t> ids;
  const PostProcessor& frame = impl_->post_processor;
  if (add_special_tokens) ids = frame.before;
  for (const Piece& piece : pieces) {
    if (piece.is_token()) {
      ids.push_back(piece.token_id);
    } else {
      impl_->model.encode_word(piece.text, ids);
    }
  }
  if (add_special_tokens) ids.insert(ids.end(), frame.behind.begin(), frame.behind.end());
  return ids;
}

std::string Tokenizer::decode(std::span<const int32_t> ids, bool skip_special_tokens) const {
  std::vector<std::string> tokens;
  for (int32_t id : ids) {
    const std::string* token = impl_->id_to_token(id);
    if (token != nullptr && !(skip_special_tokens && impl_->added.is_special(*token)))
      tokens.push_back(*token);
  }
  const bool has_decoder = impl_->decoder != nullptr;
  if (has_decoder) tokens = impl_->decoder->decode(std::move(tokens));
  std::string text;
  for (const std::string& token : tokens) {
    if (!has_decoder && &token != &tokens.front()) text += ' ';
    text += token;
  }
  return text;
}

std::optional<int32_t> Tokenizer::token_to_id(std::string_view token) const {
  return impl_->token_to_id(token);
}

std::optional<std::string> Tokenizer::id_to_token(int32_t id) const {
  const std::string* token = impl_->id_to_token(id);
  return token == nullptr ? std::nullopt : std::optional(*token);
}

size_t Tokenizer::vocab_size() const {
  const auto is_new = [&](const auto& entry) {
    return !impl_->model.token_to_id(entry.second.content);
  };
  return impl_->model.vocab_size() +
         static_cast<size_t>(std::ranges::count_if(impl_->added.tokens(), is_new));
}

int32_t Tokenizer::max_token_id() const {
  const auto& added = impl_->added.tokens();
  return std::max(impl_->model.max_id(), added.empty() ? -1 : added.rbegin()->first);
}

std::optional<int32_t> Tokenizer::bos_token_id() const { return impl_->id_of(impl_->special.bos); }
std::optional<int32_t> Tokenizer::eos_token_id() const { return impl_->id_of(impl_->special.eos); }
std::optional<int32_t> Tokenizer::pad_token_id() const { return impl_->id_of(impl_->special.pad); }
std::optional<int32_t> Tokenizer::unk_token_id() const { return impl_->id_of(impl_->special.unk); }

}  // namespace lemnos
