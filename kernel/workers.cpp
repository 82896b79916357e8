#include "workers.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>
#endif

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
        const auto jobs = std::make_shared<Jobs>(job, count);
        const std::size_t helpers = std::min(count, processors()) - 1;
        while (helpers_.size() < helpers) {
            std::thread helper([this] { help(); });
            helpers_.push_back(helper.native_handle());
            helper.detach();
        }
        stay_off_this_processor();
        {
            std::lock_guard lock(mutex_);
            jobs_ = jobs;
        }
        wake_.notify_all();
        work(*jobs);
        // What is still at work is one job each: to sleep and be woken would take longer than most of them.
        for (int spin = 0; spin < spins && jobs->done.load(std::memory_order_acquire) < count; ++spin) pause();
        std::unique_lock lock(mutex_);
        ended_.wait(lock, [&] { return jobs->done.load(std::memory_order_acquire) == count; });
        jobs_ = nullptr;
        if (jobs->failure) std::rethrow_exception(jobs->failure);
    }

  private:
    struct Jobs {
        Jobs(const std::function<void(std::size_t)>& job, std::size_t count) : job(job), count(count) {}
        const std::function<void(std::size_t)>& job;  // not looked at once all are done
        const std::size_t count;
        std::atomic<std::size_t> next{0}, done{0};
        std::exception_ptr failure;  // under mutex_
    };
    static constexpr int spins = 2000;  // 20 to 80 microseconds

    static void pause() {
#if defined(__x86_64__) || defined(_M_X64)
        _mm_pause();
#endif
    }
    void work(Jobs& jobs) {
        for (std::size_t i; (i = jobs.next.fetch_add(1, std::memory_order_relaxed)) < jobs.count;) {
            try {
                jobs.job(i);
            } catch (...) {
                std::lock_guard lock(mutex_);
                if (!jobs.failure) jobs.failure = std::current_exception();
            }
            if (jobs.done.fetch_add(1, std::memory_order_acq_rel) + 1 < jobs.count) continue;
            { std::lock_guard lock(mutex_); }  // whoever waits has looked at `done` before, or sleeps already
            ended_.notify_one();
        }
    }
    // glibc gives a thread a heap of its own that grows page by page, each by a system call and with faults that hold up other threads too. Half a
    // megabyte of it is touched at once, and kept by what lies behind.
    static void make_room() {
        std::vector<std::unique_ptr<char[]>> blocks(8);
        for (auto& block : blocks) block = std::make_unique<char[]>(std::size_t{1} << 16);
        [[maybe_unused]] static thread_local const auto behind = std::make_unique<char[]>(std::size_t{1} << 11);
    }
    void help() {
        make_room();
        std::shared_ptr<Jobs> last;
        for (;;) {
            {
                std::unique_lock lock(mutex_);
                wake_.wait(lock, [&] { return jobs_ && jobs_ != last; });
                last = jobs_;
            }
            work(*last);
        }
    }
    // Woken where the caller runs, a helper may take its place there and do all the work while other processors are idle: seen in every second batch.
    void stay_off_this_processor() {
#if defined(__linux__)
        const int here = sched_getcpu();
        cpu_set_t set;
        if (here < 0 || sched_getaffinity(0, sizeof(set), &set) != 0 || !CPU_ISSET(here, &set)) return;
        CPU_CLR(here, &set);
        if (placed_ == helpers_.size() && CPU_EQUAL(&set, &places_)) return;
        for (const std::thread::native_handle_type helper : helpers_) pthread_setaffinity_np(helper, sizeof(set), &set);
        places_ = set;
        placed_ = helpers_.size();
#endif
    }

    inline static std::mutex making_;
    inline static Workers* shared_ = nullptr;
    std::mutex batch_, mutex_;
    std::condition_variable wake_, ended_;
    std::shared_ptr<Jobs> jobs_;  // under mutex_
    std::vector<std::thread::native_handle_type> helpers_;
    std::size_t placed_ = 0;  // helpers that have been told where they may run
#if defined(__linux__)
    cpu_set_t places_{};
#endif
};
}  // namespace

void run_together(std::size_t count, const std::function<void(std::size_t)>& job) {
    if (count > 1 && processors() > 1) return Workers::instance().run(count, job);
    for (std::size_t i = 0; i < count; ++i) job(i);
}

}  // namespace scansion
