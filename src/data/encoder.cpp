#include "data/encoder.h"

#include "base/error.h"

namespace lemnos::data {

std::vector<int32_t> TokenIdsOnly::encode(std::string_view, bool) const {
  fail(
      ErrorKind::usage,
      "this run has no tokenizer, so only rows with \"input_ids\" can be read; give a model folder "
      "that holds tokenizer.json to train on text");
}

}  // namespace lemnos::data
