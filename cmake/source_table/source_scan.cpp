#include "source_scan.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <stdexcept>

#include "base/sha256.h"

namespace lemnos::proof {
namespace {

namespace fs = std::filesystem;

/// Folders and stems below src/ whose code decides numbers. Not among them: what reads and writes
/// files, talks to drivers, or prints; a mistake there is no other number but a failure.
constexpr std::string_view kFolders[] = {"graph/", "runtime/", "ops/", "models/", "peft/"};
constexpr std::string_view kStems[] = {"train/engine",  "train/engine_plan", "train/inputs",    "train/weights",
                                       "base/half",     "base/philox",       "data/batch",      "io/rope_config",
                                       "io/tensor_codec"};
constexpr std::string_view kShaderRules = "cmake/Shaders.cmake";

bool decides_numbers(const std::string& path) {
  const std::string stem = path.substr(0, path.rfind('.'));
  const auto holds = [&](std::string_view folder) { return path.starts_with(folder); };
  return std::any_of(std::begin(kFolders), std::end(kFolders), holds) ||
         std::find(std::begin(kStems), std::end(kStems), stem) != std::end(kStems);
}

bool is_source(const fs::path& path) {
  const std::string extension = path.extension().string();
  return extension == ".h" || extension == ".cpp" || extension == ".comp" || extension == ".glsl";
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(file), {}};
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Walks over C++ or GLSL and hands out its pieces: code, strings and characters, comments.
class Pieces {
 public:
  explicit Pieces(std::string_view text) : text_(text) {}
  enum class Kind { code, literal, comment };
  struct Piece {
    Kind kind;
    std::string_view text;
  };
  bool next(Piece& piece) {
    if (at_ >= text_.size()) return false;
    const size_t first = at_;
    piece.kind = kind_here();
    if (piece.kind == Kind::comment) {
      skip_comment();
    } else if (piece.kind == Kind::literal) {
      skip_literal();
    } else {
      do ++at_;
      while (at_ < text_.size() && kind_here() == Kind::code);
    }
    piece.text = text_.substr(first, at_ - first);
    return true;
  }

 private:
  Kind kind_here() const {
    const std::string_view rest = text_.substr(at_);
    if (rest.starts_with("//") || rest.starts_with("/*")) return Kind::comment;
    if (rest[0] == '"') return Kind::literal;
    const bool digit_separator = at_ > 0 && is_word(text_[at_ - 1]);
    return rest[0] == '\'' && !digit_separator ? Kind::literal : Kind::code;
  }
  void skip_comment() {
    const bool line = text_[at_ + 1] == '/';
    const size_t end = text_.find(line ? "\n" : "*/", at_ + 2);
    at_ = end == std::string_view::npos ? text_.size() : line ? end : end + 2;
  }
  void skip_literal() {
    if (at_ > 0 && text_[at_ - 1] == 'R') return skip_raw();
    const char quote = text_[at_++];
    while (at_ < text_.size() && text_[at_] != quote) at_ += text_[at_] == '\\' ? 2 : 1;
    at_ = std::min(at_ + 1, text_.size());
  }
  void skip_raw() {
    const size_t open = std::min(text_.find('(', at_), text_.size());
    const std::string end = ")" + std::string(text_.substr(at_ + 1, open - at_ - 1)) + "\"";
    const size_t found = text_.find(end, open);
    at_ = found == std::string_view::npos ? text_.size() : found + end.size();
  }

  std::string_view text_;
  size_t at_ = 0;
};

/// Joins pieces of code and literals, white space collapsed.
class Collapsed {
 public:
  void add_code(std::string_view code) {
    for (const char c : code) {
      if (c == '\n') {
        end_line();
      } else if (std::isspace(static_cast<unsigned char>(c)) != 0) {
        blank_ = true;
      } else {
        start_line(c);
        add(c);
      }
    }
  }
  void add_literal(std::string_view literal) {
    start_line('"');
    flush_blank();
    text_ += literal;
  }
  void add_line(std::string_view line) {
    new_line();
    text_ += line;
    text_ += '\n';
  }
  void add_blank() { blank_ = true; }
  std::string take() {
    while (!text_.empty() && std::isspace(static_cast<unsigned char>(text_.back())) != 0) text_.pop_back();
    return std::move(text_);
  }

 private:
  void start_line(char first) {
    if (!at_line_start_) return;
    at_line_start_ = false;
    directive_ = first == '#';
    if (directive_) new_line();
  }
  void end_line() {
    if (directive_ && !text_.empty() && text_.back() == '\\') {  // continued
      text_.pop_back();
      blank_ = true;
      return;
    }
    if (directive_) new_line();
    directive_ = false;
    at_line_start_ = true;
    blank_ = true;
  }
  void add(char c) {
    flush_blank();
    text_ += c;
  }
  void flush_blank() {
    if (blank_ && !text_.empty() && text_.back() != '\n' && text_.back() != ' ') text_ += ' ';
    blank_ = false;
  }
  void new_line() {
    if (!text_.empty() && text_.back() == ' ') text_.pop_back();
    if (!text_.empty() && text_.back() != '\n') text_ += '\n';
    blank_ = false;
  }

  std::string text_;
  bool blank_ = false, at_line_start_ = true, directive_ = false;
};

std::vector<std::string> matches(const std::string& text, const char* pattern) {
  const std::regex regex(pattern);
  std::vector<std::string> found;
  for (std::sregex_iterator match(text.begin(), text.end(), regex), end; match != end; ++match)
    found.push_back((*match)[1]);
  return found;
}

/// Literals up to the first '.' that are a shader's stem. One right behind `{` or `get_...(` names an
/// attribute, one behind `.name =` the op.
std::vector<std::string> shaders_named(const std::string& text, const std::set<std::string>& stems) {
  static const std::regex attribute(R"((\{|get_\w+\(|\.name =)\s*$)");
  std::set<std::string> found;
  Pieces pieces(text);
  std::string before;
  for (Pieces::Piece piece; pieces.next(piece);) {
    if (piece.kind == Pieces::Kind::code) {
      before = piece.text;
      continue;
    }
    std::string stem(piece.text.substr(1, piece.text.find_first_of(".\"", 1) - 1));
    if (stems.contains(stem) && !std::regex_search(before, attribute)) found.insert(std::move(stem));
  }
  return {found.begin(), found.end()};
}

SourceFile scan(const fs::path& tree, const fs::path& file, const std::set<std::string>& stems) {
  SourceFile source;
  if (file == tree / kShaderRules) {
    source.path = kShaderRules;
    source.sha256 = sha256_hex(stripped_cmake(text_of(file)));
    return source;
  }
  source.path = file.lexically_relative(tree / "src").generic_string();
  const std::string text = stripped(text_of(file));
  source.sha256 = sha256_hex(text);
  source.includes = matches(text, R"re(#\s*include "([^"]+)")re");
  source.ops = matches(text, R"re(const OpDef \w+\{\s*\.name = "([^"]+)")re");
  const std::vector<std::string> families = matches(text, R"re(const Family \w+\{\s*\.model_type = "([^"]+)")re");
  if (!families.empty()) source.family = families.front();
  if (source.path.ends_with(".cpp") || source.path.ends_with(".h")) source.shaders = shaders_named(text, stems);
  return source;
}

}  // namespace

std::string stripped(std::string_view text) {
  Collapsed out;
  Pieces pieces(text);
  for (Pieces::Piece piece; pieces.next(piece);) switch (piece.kind) {
      case Pieces::Kind::code: out.add_code(piece.text); break;
      case Pieces::Kind::literal: out.add_literal(piece.text); break;
      case Pieces::Kind::comment:
        if (piece.text.starts_with("//! variant"))
          out.add_line(piece.text);
        else
          out.add_blank();
    }
  return out.take();
}

std::string stripped_cmake(std::string_view text) {
  Collapsed out;
  bool quoted = false, comment = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const std::string_view c = text.substr(i, 1);
    if (c == "\n") comment = false;
    if (!quoted && c == "#") comment = true;
    if (comment) continue;
    if (c == "\"" && (i == 0 || text[i - 1] != '\\')) quoted = !quoted;
    if (quoted || c == "\"")
      out.add_literal(c);
    else
      out.add_code(c);
  }
  return out.take();
}

std::vector<fs::path> sources_to_scan(const fs::path& tree) {
  std::vector<fs::path> files{tree / kShaderRules};
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(tree / "src"))
    if (entry.is_regular_file() && is_source(entry.path()) &&
        decides_numbers(entry.path().lexically_relative(tree / "src").generic_string()))
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<SourceFile> scan_sources(const fs::path& tree) {
  const std::vector<fs::path> files = sources_to_scan(tree);
  std::set<std::string> stems;
  for (const fs::path& file : files)
    if (file.extension() == ".comp") stems.insert(file.stem().string());
  std::vector<SourceFile> sources;
  for (const fs::path& file : files) sources.push_back(scan(tree, file, stems));
  return sources;
}

}  // namespace lemnos::proof
