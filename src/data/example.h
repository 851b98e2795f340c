#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/encoder.h"
#include "data/row.h"

namespace lemnos::data {

/// The label of a token that is no target, as in Hugging Face.
inline constexpr int32_t kIgnoredLabel = -100;

/// One row as token ids. Labels are not shifted: labels[t] is ids[t] or kIgnoredLabel, and
/// position t predicts labels[t + 1]; labels[0] is therefore never a target.
struct Example {
  std::vector<int32_t> ids;
  std::vector<int32_t> labels;
  /// Targets that count in the loss: entries of labels[1:] that are not ignored.
  int64_t supervised = 0;
  /// Where the row stands: index into the data set's files, and line from 1.
  int32_t file = 0;
  int64_t line = 0;
};

struct ExampleOptions {
  /// Longer rows lose their end. None: no limit.
  std::optional<int64_t> max_length;
  /// None: completion only for prompt + completion rows, all tokens for the others.
  std::optional<bool> completion_only_loss;
};

/// What happened to a row on its way to an Example.
struct ExampleNotes {
  int64_t tokens_cut = 0;
  int64_t targets_cut = 0;
  bool boundary_merged = false;
  bool repeated_bos_removed = false;
  bool eos_unknown = false;
};

/// Makes examples of rows. The rules, those of TRL's SFTTrainer unless said:
///  - Text: encoded with the tokenizer's special tokens; EOS appended unless the row ends with it.
///  - Prompt + completion: the two joined are encoded as one text, again with EOS once. The prompt
///  is
///    the longest common prefix with the prompt encoded alone and has no loss. When a token merges
///    across the border the prefix is shorter than the prompt's tokens: the merged token carries
///    completion text and is a target, and the row is reported (`boundary_merged`), because at
///    generation the model sees the prompt's own tokens.
///  - `input_ids`: taken as they are, nothing added. `labels` default to the ids.
///  - Exactly one BOS (unlike TRL): where the post-processor adds one and the text already began
///  with
///    one, the second is removed.
///  - Then the end is cut at max_length, EOS included.
/// Ids outside of the embedding and labels that are neither -100 nor ids are Error{corrupt_input}.
class ExampleMaker {
 public:
  /// `encoder` must outlive the maker.
  ExampleMaker(const Encoder& encoder, const ExampleOptions& options)
      : encoder_(encoder), options_(options) {}

  /// Fills all but `file` and `line`.
  Example make(const Row& row, ExampleNotes& notes);

 private:
  /// What the post-processor puts around any text.
  struct Surroundings {
    bool bos = false;
    bool eos = false;
  };

  Example convert(const TextRow& row, ExampleNotes& notes);
  Example convert(const PairRow& row, ExampleNotes& notes);
  Example convert(const TokenRow& row, ExampleNotes& notes);
  const Surroundings& surroundings();
  std::vector<int32_t> encode(const std::string& text, ExampleNotes& notes);
  void append_eos(std::vector<int32_t>& ids, ExampleNotes& notes) const;
  void refuse_completion_only(const char* kind) const;

  const Encoder& encoder_;
  ExampleOptions options_;
  std::optional<Surroundings> surroundings_;
};

/// Entries of labels[1:] that are not kIgnoredLabel.
int64_t count_supervised(const std::vector<int32_t>& labels);

}  // namespace lemnos::data
