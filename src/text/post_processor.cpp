#include "text/post_processor.h"

#include "base/error.h"

namespace lemnos {
namespace {

int32_t as_id(const Json& json) {
  const int64_t id = json.as_integer();
  if (id < 0 || id > INT32_MAX)
    fail(ErrorKind::corrupt_input, "a post-processor names the token id {}", id);
  return static_cast<int32_t>(id);
}

void append_special(const Json& piece, const Json& special_tokens, std::vector<int32_t>& ids) {
  const std::string& name = piece.at("id").as_string();
  const Json* token = special_tokens.find(name);
  if (token == nullptr)
    fail(ErrorKind::corrupt_input,
         "the template names \"{}\", which is no special token of it", name);
  for (const Json& id : token->at("ids").as_array()) ids.push_back(as_id(id));
}

PostProcessor read_template(const Json& json) {
  PostProcessor frame;
  int sequences = 0;
  for (const Json& piece : json.at("single").as_array()) {
    if (const Json* special = piece.find("SpecialToken")) {
      append_special(*special, json.at("special_tokens"),
                     sequences == 0 ? frame.before : frame.behind);
      continue;
    }
    if (piece.at("Sequence").at("id").as_string() != "A")
      fail(ErrorKind::unsupported,
           "a template for one text that names $B is not supported");
    ++sequences;
  }
  if (sequences != 1)
    fail(ErrorKind::unsupported,
         "a template that holds $A {} times is not supported", sequences);
  return frame;
}

/// `"cls": ["[CLS]", 101]`.
PostProcessor read_bert(const Json& json) {
  const auto id = [&](const char* key) {
    const Json::Array& pair = json.at(key).as_array();
    if (pair.size() != 2)
      fail(ErrorKind::corrupt_input, "{} must be [token, id]", key);
    return as_id(pair[1]);
  };
  return {{id("cls")}, {id("sep")}};
}

PostProcessor read_sequence(const Json& json) {
  PostProcessor frame;
  int framing = 0;
  for (const Json& item : json.at("processors").as_array()) {
    PostProcessor part = read_post_processor(item);
    if (item.at("type").as_string() == "ByteLevel") continue;
    if (++framing > 1)
      fail(ErrorKind::unsupported,
           "a sequence of several framing post-processors is not supported");
    frame = std::move(part);
  }
  return frame;
}

}  // namespace

PostProcessor read_post_processor(const Json& json) {
  if (json.is_null()) return {};
  const std::string& type = json.at("type").as_string();
  if (type == "ByteLevel") return {};  // changes offsets only
  if (type == "TemplateProcessing") return read_template(json);
  if (type == "BertProcessing" || type == "RobertaProcessing") return read_bert(json);
  if (type == "Sequence") return read_sequence(json);
  fail(ErrorKind::unsupported, "the post-processor \"{}\" is not supported", type);
}

}  // namespace lemnos
