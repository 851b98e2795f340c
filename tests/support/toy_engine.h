#pragma once

#include <cstring>
#include <memory>

#include "runtime/profile.h"
#include "support/device.h"
#include "support/toy_run.h"
#include "train/engine.h"

namespace lemnos::test {

/// A toy model of that type: toy_model_json with `more` on top.
inline ModelConfig toy_model(const char* type = "llama", const char* more = "{}") {
  Json json = train::toy_model_json();
  json.set("model_type", type);
  const Json changes = Json::parse(more, "more");
  for (const auto& [key, value] : changes.as_object()) json.set(key, value);
  return read_model_config(std::move(json), "toy");
}

/// toy_values for every parameter.
inline void fill_with_toy_values(Storage& storage, const Graph& graph) {
  for (const ValueId id : graph.of_kind(ValueKind::parameter)) {
    const Value& value = graph[id];
    const int64_t count = element_count(value.type.shape);
    const std::vector<float> numbers = train::toy_values(value.name, count, value.type.shape.size() == 1);
    storage.write(value.name, std::as_bytes(std::span(numbers)));
  }
}

/// On test_device(), filled.
inline std::unique_ptr<Engine> toy_engine(const EngineSetup& setup, EnginePlan plan, Engine::Options options = {}) {
  auto engine = std::make_unique<Engine>(test_device(), setup, std::move(plan), options);
  fill_with_toy_values(engine->storage(), engine->graph());
  return engine;
}
inline std::unique_ptr<Engine> toy_engine(const EngineSetup& setup, Engine::Options options = {}) {
  return toy_engine(setup, plan_engine(setup, profile_of(test_device())), options);
}

inline std::vector<float> floats_of(Engine& engine, const std::string& name) {
  const std::vector<std::byte> bytes = engine.storage().read(name);
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

}  // namespace lemnos::test
