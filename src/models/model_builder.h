#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/builder.h"
#include "models/model.h"

namespace lemnos {

/// What a module is called and what it holds, as torch's named_modules() would list it.
struct ModuleInfo {
  std::string name;  // "model.layers.0.self_attn.q_proj"
  std::string type;  // "Linear", "RMSNorm", "Embedding", "Router", "Experts"
  int64_t in_features = 0;
  int64_t out_features = 0;
  bool bias = false;
};

/// Asked by ModelBuilder::linear for every Linear; PEFT adds its branches here.
class LinearHook {
 public:
  virtual ~LinearHook() = default;
  /// `y` is the base Linear's output for `x` (last axis in_features).
  virtual ValueId apply(ModelBuilder& m, const ModuleInfo& module, ValueId x, ValueId y) const = 0;
};

struct BuildOptions {
  int64_t tokens = 0;             // N = rows * length of the bucket
  int64_t positions = 0;          // rows of the RoPE tables: the bucket's length
  int64_t max_segments = 1;       // documents and padding tails in a batch at most
  /// Storage type of a frozen parameter (trainable ones are f32); null: f32.
  std::function<DType(const std::string& parameter)> dtype;
  /// Null: nothing is trainable (besides what the hook adds).
  std::function<bool(const std::string& parameter)> trainable;
  const LinearHook* hook = nullptr;
  int64_t cache_capacity = 0;     // > 0: a decode graph over KV caches of that many tokens
};

/// The builder that families write their forward pass with. Names given here are relative to the
/// scope; the full names are Hugging Face's.
class ModelBuilder {
 public:
  ModelBuilder(Builder& builder, const ModelConfig& config, const BuildOptions& options);

  Builder& b() { return builder_; }
  const BuildOptions& options() const { return options_; }

  /// Names made while it lives are inside "<name>.".
  class Scope {
   public:
    Scope(ModelBuilder& m, std::string_view name);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    ModelBuilder& m_;
    std::string outer_;
  };
  [[nodiscard]] Scope scope(std::string_view name) { return Scope(*this, name); }
  std::string full_name(std::string_view name) const;

  ValueId linear(std::string_view name, ValueId x, int64_t in, int64_t out, bool bias = false);
  ValueId rms_norm(std::string_view name, ValueId x, int64_t width, double eps);
  ValueId embedding(std::string_view name, int64_t rows, int64_t width, int64_t padding_idx);
  /// A parameter by its full Hugging Face name; the same value when asked again (ties).
  ValueId parameter(const std::string& full_name, const Shape& shape);
  /// A module that holds raw parameters, for the module list.
  void note_module(std::string_view name, std::string_view type, int64_t in = 0, int64_t out = 0);

  /// RoPE on [N, heads, hd] with the tables of `suffix`.
  ValueId rope(ValueId x, const RopeSpec& spec);
  /// Causal attention of the bucket, or over the cache in a decode graph; [N, heads, hd] each.
  ValueId attention(ValueId q, ValueId k, ValueId v, double scale, int64_t window);

  const std::vector<ModuleInfo>& modules() const { return modules_; }

 private:
  Builder& builder_;
  const ModelConfig& config_;
  const BuildOptions& options_;
  std::vector<ModuleInfo> modules_;
  int64_t cached_layers_ = 0;
};

/// The head's weight [V, H]: the embedding's when tied.
ValueId head_weight(ModelBuilder& m, const ModelConfig& config);

/// Builds the forward pass only to learn its modules and parameters (no device work).
struct ModelOutline {
  std::vector<ModuleInfo> modules;
  std::vector<Value> parameters;  // in order, the head included
};
ModelOutline outline(const ModelConfig& config, const LinearHook* hook = nullptr);

}  // namespace lemnos
