#include "data/example.h"

#include <algorithm>
#include <variant>

#include "base/error.h"

namespace lemnos::data {
namespace {

using Ids = std::vector<int32_t>;

void check_ids(const Example& example, int64_t rows) {
  for (size_t i = 0; i < example.ids.size(); ++i) {
    const int32_t id = example.ids[i];
    if (id < 0 || id >= rows)
      fail(ErrorKind::corrupt_input,
           "token {} has id {}, outside of the model's embedding of {} rows", i, id, rows);
    const int32_t label = example.labels[i];
    if (label != kIgnoredLabel && (label < 0 || label >= rows))
      fail(ErrorKind::corrupt_input,
           "label {} is {}, expected {} or an id below the embedding's {} rows", i, label,
           kIgnoredLabel, rows);
  }
}

int64_t cut_end(Example& example, std::optional<int64_t> max_length) {
  const auto length = static_cast<int64_t>(example.ids.size());
  if (!max_length || length <= *max_length) return 0;
  example.ids.resize(static_cast<size_t>(*max_length));
  example.labels.resize(static_cast<size_t>(*max_length));
  return length - *max_length;
}

}  // namespace

int64_t count_supervised(const std::vector<int32_t>& labels) {
  if (labels.empty()) return 0;
  return std::count_if(labels.begin() + 1, labels.end(),
                       [](int32_t label) { return label != kIgnoredLabel; });
}

Example ExampleMaker::make(const Row& row, ExampleNotes& notes) {
  Example example = std::visit([&](const auto& kind) { return convert(kind, notes); }, row);
  check_ids(example, encoder_.vocabulary_rows);
  const int64_t targets = count_supervised(example.labels);
  notes.tokens_cut = cut_end(example, options_.max_length);
  example.supervised = count_supervised(example.labels);
  notes.targets_cut = targets - example.supervised;
  return example;
}

Example ExampleMaker::convert(const TextRow& row, ExampleNotes& notes) {
  refuse_completion_only("a text row");
  Example example;
  example.ids = encode(row.text, notes);
  append_eos(example.ids, notes);
  example.labels = example.ids;
  return example;
}

Example ExampleMaker::convert(const PairRow& row, ExampleNotes& notes) {
  Ids prompt = encode(row.prompt, notes);
  if (surroundings().eos && !prompt.empty() && prompt.back() == encoder_.eos_id) prompt.pop_back();
  Example example;
  example.ids = encode(row.prompt + row.completion, notes);
  const auto parted =
      std::mismatch(prompt.begin(), prompt.end(), example.ids.begin(), example.ids.end());
  notes.boundary_merged = parted.first != prompt.end();
  const auto prompt_length = parted.first - prompt.begin();
  append_eos(example.ids, notes);
  example.labels = example.ids;
  if (options_.completion_only_loss.value_or(true))
    std::fill_n(example.labels.begin(), prompt_length, kIgnoredLabel);
  return example;
}

Example ExampleMaker::convert(const TokenRow& row, ExampleNotes&) {
  if (!row.labels) refuse_completion_only("a row of input_ids without labels");
  Example example;
  example.ids = row.ids;
  example.labels = row.labels.value_or(row.ids);
  return example;
}

const ExampleMaker::Surroundings& ExampleMaker::surroundings() {
  if (!surroundings_) {
    const Ids around_nothing = encoder_.encode("", true);
    Surroundings found;
    found.bos = !around_nothing.empty() && around_nothing.front() == encoder_.bos_id;
    found.eos =
        around_nothing.size() > (found.bos ? 1u : 0u) && around_nothing.back() == encoder_.eos_id;
    surroundings_ = found;
  }
  return *surroundings_;
}

Ids ExampleMaker::encode(const std::string& text, ExampleNotes& notes) {
  Ids ids = encoder_.encode(text, true);
  if (surroundings().bos && ids.size() > 1 && ids[0] == encoder_.bos_id &&
      ids[1] == encoder_.bos_id) {
    ids.erase(ids.begin());
    notes.repeated_bos_removed = true;
  }
  return ids;
}

void ExampleMaker::append_eos(Ids& ids, ExampleNotes& notes) const {
  if (!encoder_.eos_id)
    notes.eos_unknown = true;
  else if (ids.empty() || ids.back() != *encoder_.eos_id)
    ids.push_back(*encoder_.eos_id);
}

void ExampleMaker::refuse_completion_only(const char* kind) const {
  if (options_.completion_only_loss.value_or(false))
    fail(ErrorKind::corrupt_input,
         "completion_only_loss is true and {} does not say what its completion is", kind);
}

}  // namespace lemnos::data
