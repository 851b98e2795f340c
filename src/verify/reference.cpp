#include "verify/reference.h"

#include <algorithm>

#include "base/error.h"
#include "io/folder_kind.h"
#include "io/hf_config.h"
#include "io/tensor_codec.h"

namespace lemnos {
namespace {

/// Values of `name`, one for each of `tokens`, each in [low, high].
std::vector<int32_t> read_ids(const SafetensorsFile& file, const TensorView& view, int64_t tokens, int64_t low,
                              int64_t high) {
  if (view.elements() != tokens)
    fail(ErrorKind::corrupt_input, "{}: {} has {} elements, input_ids {}", file.path().string(), view.name,
         view.elements(), tokens);
  std::vector<int32_t> ids;
  for (const int64_t id : decode_i64(view)) {
    if (id < low || id > high)
      fail(ErrorKind::corrupt_input, "{}: {} holds {}, expected {} to {}", file.path().string(), view.name, id, low, high);
    ids.push_back(static_cast<int32_t>(id));
  }
  return ids;
}

void read_facts(Reference& reference, ConfigReader& reader) {
  if (const int64_t format = reader.get_int("format"); format != 1)
    fail(ErrorKind::unsupported, "{}: reference format {}; this program reads format 1", reader.source(), format);
  reference.name = reader.get_string_or("name", reference.folder.filename().string());
  reference.stage = reader.get_string("stage");
  if (reference.stage != "base" && reference.stage != "lora")
    fail(ErrorKind::unsupported, "{}: stage \"{}\" is not there yet (base and lora are)", reader.source(), reference.stage);
  reference.fixture = reader.get_string_or("fixture", "");
  reference.profile = reader.get_string_or("profile", "");
  reference.steps = reader.get_int("steps");
  reference.loss = reader.find_doubles("loss").value_or(std::vector<double>());
  reference.given_gradients = reader.get_bool_or("given_gradients", false);
  reference.near_zero = reader.get_bool_or("near_zero", false);
  ConfigReader optimizer = reader.get_section("optimizer");
  reference.learning_rate = optimizer.get_double("lr");
  const std::vector<double> betas = optimizer.get_doubles("betas");
  if (betas.size() != 2) optimizer.fail_field("betas", "two numbers");
  reference.adamw = {betas[0], betas[1], optimizer.get_double("eps"), optimizer.get_double("weight_decay")};
}

/// Positions that restart begin a new document; what the mask hides is a segment of its own.
std::vector<int32_t> segments_of(const data::Batch& batch, const std::vector<int32_t>& mask, bool packed) {
  std::vector<int32_t> segments(batch.input_ids.size());
  for (int64_t row = 0; row < batch.rows; ++row) {
    int32_t segment = 0;
    for (int64_t t = 0; t < batch.length; ++t) {
      const auto i = static_cast<size_t>(row * batch.length + t);
      const bool edge = t > 0 && (mask[i] != mask[i - 1] || (packed && batch.positions[i] != batch.positions[i - 1] + 1));
      segment += edge ? 1 : 0;
      segments[i] = segment;
    }
  }
  return segments;
}

/// Padding stands at the ends of a row, and neither predicts nor is predicted: Transformers would train
/// on what a padded position says of the token behind it, out of a row of attention that is all masked.
void check_padding(const Reference& reference, const std::vector<int32_t>& mask) {
  const std::string where = (reference.folder / "tensors.safetensors").string();
  const auto length = static_cast<size_t>(reference.batch.length);
  for (size_t row = 0; row < mask.size(); row += length) {
    int runs = 0;
    for (size_t i = row; i < row + length; ++i) {
      const bool first_shown = mask[i] == 1 && (i == row || mask[i - 1] == 0);
      runs += first_shown ? 1 : 0;
      const bool no_target = mask[i] == 0 || (first_shown && i > row);
      if (no_target && reference.batch.labels[i] != data::kIgnoredLabel)
        fail(ErrorKind::unsupported, "{}: row {} has a label at {}, {}; it must carry -100", where, row / length, i - row,
             mask[i] == 0 ? "which is padding" : "the first token behind padding");
    }
    if (runs > 1) fail(ErrorKind::unsupported, "{}: row {} has padding between its tokens", where, row / length);
  }
  if (std::count(mask.begin(), mask.end(), 1) == 0)
    fail(ErrorKind::corrupt_input, "{}: attention_mask hides every token", where);
}

void read_batch(Reference& reference) {
  const SafetensorsFile& file = reference.tensors;
  const auto need = [&](const char* name) -> const TensorView& {
    const TensorView* view = file.find(name);
    if (view == nullptr) fail(ErrorKind::corrupt_input, "{}: {} is missing", file.path().string(), name);
    return *view;
  };
  const TensorView& ids = need("input_ids");
  if (ids.shape.size() != 2 || ids.elements() == 0)
    fail(ErrorKind::corrupt_input, "input_ids has shape {}, expected [B, T]", shape_text(ids.shape));
  data::Batch& batch = reference.batch;
  batch.rows = ids.shape[0];
  batch.length = ids.shape[1];
  const int64_t tokens = ids.elements(), largest_id = reference.model.vocab_size - 1;
  batch.input_ids = read_ids(file, ids, tokens, 0, largest_id);
  batch.labels = read_ids(file, need("labels"), tokens, data::kIgnoredLabel, largest_id);
  std::vector<int32_t> mask(static_cast<size_t>(tokens), 1);
  if (const TensorView* view = file.find("attention_mask")) mask = read_ids(file, *view, tokens, 0, 1);
  if (const TensorView* view = file.find("position_ids"))
    batch.positions = read_ids(file, *view, tokens, 0, batch.length - 1);
  else
    for (int64_t i = 0; i < tokens; ++i) batch.positions.push_back(static_cast<int32_t>(i % batch.length));
  check_padding(reference, mask);
  batch.segments = segments_of(batch, mask, reference.packed);
  for (const int32_t shown : mask) reference.counted_tokens.push_back(shown == 1);
  for (const int32_t target : data::targets_of(batch)) batch.supervised += target >= 0 ? 1 : 0;
}

}  // namespace

std::vector<std::string> Reference::names(const std::string& prefix) const {
  std::vector<std::string> found;
  for (const TensorView& view : tensors.tensors())
    if (view.name.starts_with(prefix)) found.emplace_back(view.name.substr(prefix.size()));
  std::sort(found.begin(), found.end());
  return found;
}

Reference open_reference(const std::filesystem::path& folder) {
  require_folder(folder, kReferenceFolder);
  Reference reference{.folder = folder, .tensors = SafetensorsFile::open(folder / "tensors.safetensors")};
  ConfigReader reader = ConfigReader::open(folder / "reference.json");
  read_facts(reference, reader);
  reference.model = read_model_config(folder / "model" / "config.json");
  const Json* packed = reader.find("packed");
  reference.packed = packed != nullptr && !(packed->is_bool() && !packed->as_bool());
  if (!reference.given_gradients) read_batch(reference);
  return reference;
}

}  // namespace lemnos
