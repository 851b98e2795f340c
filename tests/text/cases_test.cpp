// Compares with what parity/tokenizers/make_cases.py wrote into the folder LEMNOS_TOKENIZER_CASES.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>

#include "base/error.h"
#include "text/component.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace lemnos {
namespace {

namespace fs = std::filesystem;

constexpr int kShownDifferences = 5;

/// Of this process on a CPU: other load does not count.
double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

std::vector<int32_t> to_numbers(const Json& json) {
  std::vector<int32_t> ids;
  for (const Json& id : json.as_array()) ids.push_back(static_cast<int32_t>(id.as_integer()));
  return ids;
}

Json read_json(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return Json::parse(std::string(std::istreambuf_iterator<char>(in), {}), path.string());
}

/// Counts lines of one kind of result and shows the first differences.
class Tally {
 public:
  explicit Tally(std::string name) : name_(std::move(name)) {}
  template <typename T>
  void compare(const std::string& hex, const T& got, const T& expected) {
    ++lines_;
    if (got == expected) return;
    if (++different_ <= kShownDifferences)
      ADD_FAILURE() << name_ << " of " << hex << ": got " << ::testing::PrintToString(got)
                    << ", expected " << ::testing::PrintToString(expected);
  }
  int lines() const { return lines_; }
  int different() const { return different_; }

 private:
  std::string name_;
  int lines_ = 0;
  int different_ = 0;
};

std::string streamed(const Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
  StreamDecoder decoder(tokenizer, true);
  std::string text;
  for (int32_t id : ids) {
    const std::string part = decoder.push(id);
    EXPECT_TRUE(is_valid_utf8(part));
    text += part;
  }
  return text + decoder.finish();
}

struct Speed {
  size_t bytes = 0;
  double seconds = 0;
};

void compare_line(const Tokenizer& tokenizer, const Json& line,
                  std::map<std::string, Tally>& tallies, Speed& speed) {
  const std::string& hex = line.at("hex").as_string();
  const std::string bytes = from_hex(hex);
  const double start = cpu_seconds();
  const std::vector<int32_t> ids = tokenizer.encode(bytes, false);
  speed.seconds += cpu_seconds() - start;
  speed.bytes += bytes.size();
  const std::vector<int32_t> framed = tokenizer.encode(bytes, true);
  const auto tally = [&](const char* name) -> Tally& {
    return tallies.try_emplace(name, name).first->second;
  };
  tally("ids").compare(hex, ids, to_numbers(line.at("ids")));
  tally("framed ids").compare(hex, framed, to_numbers(line.at("framed_ids")));
  tally("text").compare(hex, tokenizer.decode(framed, false), line.at("text").as_string());
  tally("plain text")
      .compare(hex, tokenizer.decode(framed, true), line.at("plain_text").as_string());
  // A bad byte run of ByteFallback turns good bytes before it bad in hindsight; a stream cannot.
  const std::string& plain = line.at("plain_text").as_string();
  if (plain.find(kReplacementCharacter) == std::string::npos)
    tally("streamed text").compare(hex, streamed(tokenizer, framed), plain);
}

void compare_tokenizer(const fs::path& folder) {
  const double start = cpu_seconds();
  const Tokenizer tokenizer = Tokenizer::load(folder);
  const double load = cpu_seconds() - start;
  std::map<std::string, Tally> tallies;
  Speed speed;
  std::ifstream in(folder / "cases.jsonl");
  for (std::string line; std::getline(in, line);)
    compare_line(tokenizer, Json::parse(line, folder.string()), tallies, speed);
  std::cout << folder.filename().string() << ": loaded in " << load << " s, "
            << static_cast<double>(speed.bytes) / speed.seconds / 1e6 << " MB/s";
  EXPECT_FALSE(tallies.empty()) << folder << " holds no cases";
  for (const auto& [name, tally] : tallies) {
    std::cout << ", " << name << " " << tally.lines() - tally.different() << "/" << tally.lines();
    EXPECT_EQ(tally.different(), 0) << name << " of " << folder;
  }
  std::cout << "\n";
}

std::optional<fs::path> cases_folder() {
  const char* folder = std::getenv("LEMNOS_TOKENIZER_CASES");
  return folder == nullptr ? std::nullopt : std::optional<fs::path>(folder);
}

#define SKIP_WITHOUT_CASES() \
  if (!cases_folder()) GTEST_SKIP() << "LEMNOS_TOKENIZER_CASES names no folder of make_cases.py"

TEST(TokenizerCases, IdsAndTextsAreThoseOfTheTokenizersPackage) {
  SKIP_WITHOUT_CASES();
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(*cases_folder()))
    if (fs::exists(entry.path() / "cases.jsonl")) folders.push_back(entry.path());
  std::ranges::sort(folders);
  ASSERT_FALSE(folders.empty());
  for (const fs::path& folder : folders) compare_tokenizer(folder);
}

std::vector<bool> members(const Json& ranges) {
  std::vector<bool> set(0x110000);
  for (const Json& range : ranges.as_array()) {
    const auto first = static_cast<size_t>(range.as_array()[0].as_integer());
    const auto last = static_cast<size_t>(range.as_array()[1].as_integer());
    for (size_t c = first; c <= last; ++c) set[c] = true;
  }
  return set;
}

int32_t characters_in(const std::string& text) {
  const auto starts = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
  return static_cast<int32_t>(std::ranges::count_if(text, starts));
}

/// unicode.json: the code points and what is known of them.
struct UnicodeCases {
  Json json = read_json(*cases_folder() / "unicode.json");
  std::vector<bool> scalars = members(json.at("scalars"));

  const Json::Array& at(const char* key) const { return json.at(key).as_array(); }
  void for_each_scalar(const std::function<void(char32_t, const std::string&)>& visit) const {
    for (char32_t c = 0; c < scalars.size(); ++c) {
      if (!scalars[c]) continue;
      std::string text;
      append_utf8(text, c);
      visit(c, text);
    }
  }
};

TEST(TokenizerCases, CharacterClassesHoldTheSameCodePoints) {
  SKIP_WITHOUT_CASES();
  const UnicodeCases cases;
  for (const Json& entry : cases.at("classes")) {
    const std::string& pattern = entry.at("pattern").as_string();
    const Regex regex(pattern);
    const std::vector<bool> expected = members(entry.at("ranges"));
    Tally tally(pattern);
    cases.for_each_scalar([&](char32_t c, const std::string& text) {
      const std::vector<Span> spans = regex.find_spans(text);
      const bool matches = spans.size() == 1 && spans[0].is_match;
      tally.compare(std::to_string(c), matches, bool{expected[c]});
    });
    EXPECT_EQ(tally.different(), 0) << pattern;
  }
}

TEST(TokenizerCases, PreTokenizersCutAtTheSameCodePoints) {
  SKIP_WITHOUT_CASES();
  const UnicodeCases cases;
  for (const Json& entry : cases.at("pre_tokenizers")) {
    const std::string name = entry.at("json").dump();
    const auto pre_tokenizer = make_pre_tokenizer(entry.at("json"));
    std::vector<std::vector<int32_t>> expected(0x110000);
    for (const Json& cut : entry.at("cuts").as_array()) {
      const std::vector<bool> set = members(cut.at("ranges"));
      for (size_t c = 0; c < set.size(); ++c)
        if (set[c]) expected[c] = to_numbers(cut.at("lengths"));
    }
    Tally tally(name);
    cases.for_each_scalar([&](char32_t c, const std::string& text) {
      Piece piece;
      piece.text = "a" + text + "a";
      Pieces pieces = {piece};
      pre_tokenizer->pre_tokenize(pieces);
      std::vector<int32_t> lengths;
      for (const Piece& part : pieces) lengths.push_back(characters_in(part.text));
      tally.compare(std::to_string(c), lengths, expected[c]);
    });
    EXPECT_EQ(tally.different(), 0) << name;
  }
}

TEST(TokenizerCases, NormalizersChangeTheSameCodePoints) {
  SKIP_WITHOUT_CASES();
  const UnicodeCases cases;
  for (const Json& entry : cases.at("normalizers")) {
    const std::string name = entry.at("json").dump();
    const auto normalizer = make_normalizer(entry.at("json"));
    std::map<char32_t, std::string> changed;
    for (const Json& pair : entry.at("changed").as_array())
      changed[static_cast<char32_t>(pair.as_array()[0].as_integer())] =
          pair.as_array()[1].as_string();
    Tally tally(name);
    cases.for_each_scalar([&](char32_t c, const std::string& text) {
      Piece piece;
      piece.text = text;
      normalizer->normalize(piece);
      const auto found = changed.find(c);
      tally.compare(std::to_string(c), piece.text, found == changed.end() ? text : found->second);
    });
    EXPECT_EQ(tally.different(), 0) << name;
  }
}

}  // namespace
}  // namespace lemnos
