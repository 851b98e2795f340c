#pragma once

#include <cstddef>
#include <exception>
#include <functional>

namespace lemnos {

/// Calls work(0) ... work(count - 1), each once, on as many threads as there are cores (at most 16);
/// returns when all are done. Null, or what the first of those that threw, by index, has thrown.
std::exception_ptr run_parallel(size_t count, const std::function<void(size_t)>& work);

}  // namespace lemnos
