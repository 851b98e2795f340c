#include "base/parallel.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

namespace lemnos {

std::exception_ptr run_parallel(size_t count, const std::function<void(size_t)>& work) {
  constexpr size_t kMostThreads = 16;
  std::vector<std::exception_ptr> errors(count);
  std::atomic<size_t> next{0};
  const auto take = [&] {
    for (size_t i = next++; i < count; i = next++) try {
        work(i);
      } catch (...) {
        errors[i] = std::current_exception();
      }
  };
  const size_t cores = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  try {
    for (size_t i = 1; i < std::min({cores, kMostThreads, count}); ++i) threads.emplace_back(take);
  } catch (const std::system_error&) {
    // No more threads are to be had: those there are do the work.
  }
  take();
  for (std::thread& thread : threads) thread.join();
  const auto first = std::find_if(errors.begin(), errors.end(), [](const std::exception_ptr& error) { return error != nullptr; });
  return first == errors.end() ? nullptr : *first;
}

}  // namespace lemnos
