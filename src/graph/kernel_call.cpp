#include "graph/kernel_call.h"

#include <algorithm>

#include "base/error.h"

namespace lemnos {

std::array<uint32_t, 3> flat_groups(int64_t elements, int64_t group_size) {
  constexpr int64_t kMostGroups = 65535;
  const int64_t groups = std::max<int64_t>(1, (elements + group_size - 1) / group_size);
  const int64_t rows = (groups + kMostGroups - 1) / kMostGroups;
  const int64_t columns = (groups + rows - 1) / rows;
  if (rows > kMostGroups)
    fail(ErrorKind::unsupported, "a tensor of {} elements is more than one kernel handles; lower per_device_train_batch_size or max_length",
         elements);
  return {static_cast<uint32_t>(columns), static_cast<uint32_t>(rows), 1};
}

}  // namespace lemnos
