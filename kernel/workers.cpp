#include "workers.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#if defined(__linux__)
#include <pthread.h>
#include <sched.h>
#endif

namespace scansion {

std::size_t processors() {
#if defined(__linux__)
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) == 0) return static_cast<std::size_t>(CPU_COUNT(&set));
#endif
    return std::max(1u, std::thread::hardware_concurrency());
}

namespace {
class Workers {
  public:
    // Never destroyed: its threads wait until the process ends. A forked child has none of them, and begins anew.
    static Workers& instance() {
        std::lock_guard lock(making_);
        if (!shared_) {
#if defined(__linux__)
            static const int once = pthread_atfork([] { making_.lock(); }, [] { making_.unlock(); }, [] { shared_ = nullptr, making_.unlock(); });
            (void)once;
#endif
            shared_ = new Workers;
        }
        return *shared_;
    }

    void run(std::size_t count, const std::function<void(std::size_t)>& job) {
        std::unique_lock one_batch(batch_, std::try_to_lock);
        if (!one_batch) {  // somebody else's batch has the helpers
            for (std::size_t i = 0; i < count; ++i) job(i);
            return;
        }
        std::unique_lock lock(mutex_);
        for (std::size_t helpers = std::min(count, processors()) - 1; threads_ < helpers; ++threads_) std::thread([this] { help(); }).detach();
        job_ = &job;
        count_ = count;
        next_ = done_ = 0;
        failure_ = nullptr;
        lock.unlock();
        wake_.notify_all();  // whoever wakes needs the mutex
        lock.lock();
        while (work(lock)) {}
        ended_.wait(lock, [&] { return done_ == count_; });
        job_ = nullptr;
        if (failure_) std::rethrow_exception(failure_);
    }

  private:
    // One job, with the lock released; false where none is left.
    bool work(std::unique_lock<std::mutex>& lock) {
        if (!job_ || next_ == count_) return false;
        const std::size_t mine = next_++;
        const auto& job = *job_;
        std::exception_ptr failure;
        lock.unlock();
        try {
            job(mine);
        } catch (...) {
            failure = std::current_exception();
        }
        lock.lock();
        if (failure && !failure_) failure_ = failure;
        if (++done_ == count_) ended_.notify_one();
        return true;
    }
    void help() {
        std::unique_lock lock(mutex_);
        for (;;) {
            while (work(lock)) {}
            wake_.wait(lock);
        }
    }

    inline static std::mutex making_;
    inline static Workers* shared_ = nullptr;
    std::mutex batch_, mutex_;
    std::condition_variable wake_, ended_;
    std::size_t threads_ = 0, count_ = 0, next_ = 0, done_ = 0;
    const std::function<void(std::size_t)>* job_ = nullptr;
    std::exception_ptr failure_;
};
}  // namespace

void run_together(std::size_t count, const std::function<void(std::size_t)>& job) {
    if (count > 1 && processors() > 1) return Workers::instance().run(count, job);
    for (std::size_t i = 0; i < count; ++i) job(i);
}

}  // namespace scansion
