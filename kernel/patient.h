// A mutex for work that is soon done: whoever finds it taken looks again for some microseconds before it sleeps, as being woken takes ten times as
// long as what is waited for.
#pragma once
#include <mutex>

#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>
#endif

namespace scansion {

template <class Mutex>
class Patient {
  public:
    void lock() {
        for (int i = 0; i < looks; ++i) {
            if (mutex_.try_lock()) return;
#if defined(__x86_64__) || defined(_M_X64)
            _mm_pause();
#endif
        }
        mutex_.lock();
    }
    bool try_lock() { return mutex_.try_lock(); }
    void unlock() { mutex_.unlock(); }

  private:
    static constexpr int looks = 500;
    Mutex mutex_;
};

}  // namespace scansion
