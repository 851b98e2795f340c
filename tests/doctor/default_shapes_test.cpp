#include "doctor/default_shapes.h"

#include <gtest/gtest.h>

#include <set>

#include "models/model.h"

namespace lemnos::doctor {
namespace {

TEST(DefaultShapes, CoverEveryFamily) {
  std::set<std::string> covered;
  for (const DefaultShape& shape : default_shapes())
    covered.insert(read_model_config(Json::parse(shape.text, shape.file), shape.file).family->model_type);
  for (const Family* family : families())
    EXPECT_TRUE(covered.contains(family->model_type)) << "src/doctor/shapes/ has none of " << family->model_type;
}

}  // namespace
}  // namespace lemnos::doctor
