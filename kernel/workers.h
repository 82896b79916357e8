// Threads that help a batch: started when first needed, one less than the processors this process may use.
#pragma once
#include <cstddef>
#include <functional>

namespace scansion {

// Processors the calling thread may run on.
std::size_t processors();
// Calls `job(0) .. job(count - 1)`, each once, on this thread and on helpers. What a job throws is thrown here after all have ended.
void run_together(std::size_t count, const std::function<void(std::size_t)>& job);

}  // namespace scansion
