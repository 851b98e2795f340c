#include "verify/reference.h"

#include <algorithm>

#include "base/error.h"
#include "io/folder_kind.h"
#include "io/hf_config.h"
#include "io/tensor_codec.h"

namespace lemnos {
namespace {

std::vector<int32_t> narrow_ids(const TensorView& view) {
  std::vector<int32_t> ids;
  for (const int64_t id : decode_i64(view)) ids.push_back(static_cast<int32_t>(id));
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
  ConfigReader optimizer = reader.get_section("optimizer");
  reference.learning_rate = optimizer.get_double("lr");
  const std::vector<double> betas = optimizer.get_doubles("betas");
  if (betas.size() != 2) optimizer.fail_field("betas", "two numbers");
  reference.adamw = {betas[0], betas[1], optimizer.get_double("eps"), optimizer.get_double("weight_decay")};
}

/// Positions that restart begin a new document; what the mask hides is a segment of its own.
std::vector<int32_t> segments_of(const data::Batch& batch, const std::vector<int64_t>& mask, bool packed) {
  std::vector<int32_t> segments(batch.input_ids.size());
  for (int64_t row = 0; row < batch.rows; ++row) {
    int32_t segment = 0;
    for (int64_t t = 0; t < batch.length; ++t) {
      const auto i = static_cast<size_t>(row * batch.length + t);
      const bool edge = t > 0 && ((!mask.empty() && mask[i] != mask[i - 1]) ||
                                  (packed && batch.positions[i] != batch.positions[i - 1] + 1));
      segment += edge ? 1 : 0;
      segments[i] = segment;
    }
  }
  return segments;
}

void read_batch(Reference& reference, bool packed) {
  const auto need = [&](const char* name) -> const TensorView& {
    const TensorView* view = reference.tensors.find(name);
    if (view == nullptr)
      fail(ErrorKind::corrupt_input, "{}: {} is missing", reference.tensors.path().string(), name);
    return *view;
  };
  const TensorView& ids = need("input_ids");
  if (ids.shape.size() != 2) fail(ErrorKind::corrupt_input, "input_ids has shape {}, expected [B, T]", shape_text(ids.shape));
  data::Batch& batch = reference.batch;
  batch.rows = ids.shape[0];
  batch.length = ids.shape[1];
  batch.input_ids = narrow_ids(ids);
  batch.labels = narrow_ids(need("labels"));
  if (batch.labels.size() != batch.input_ids.size())
    fail(ErrorKind::corrupt_input, "{}: labels and input_ids differ in size", reference.tensors.path().string());
  std::vector<int64_t> mask;
  if (const TensorView* view = reference.tensors.find("attention_mask")) mask = decode_i64(*view);
  if (const TensorView* view = reference.tensors.find("position_ids")) batch.positions = narrow_ids(*view);
  if (batch.positions.empty())
    for (int64_t i = 0; i < batch.rows * batch.length; ++i) batch.positions.push_back(static_cast<int32_t>(i % batch.length));
  batch.segments = segments_of(batch, mask, packed);
  reference.counted_tokens.assign(batch.input_ids.size(), true);
  for (size_t i = 0; i < mask.size(); ++i) {
    reference.counted_tokens[i] = mask[i] == 1;
    if (mask[i] != 1 && batch.labels[i] != -100)
      fail(ErrorKind::unsupported, "{}: a padded position has a label; padding must carry -100", reference.folder.string());
  }
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
  const Json* packed = reader.find("packed");
  const bool is_packed = packed != nullptr && !(packed->is_bool() && !packed->as_bool());
  if (!reference.given_gradients) read_batch(reference, is_packed);
  return reference;
}

}  // namespace lemnos
