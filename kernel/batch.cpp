// Many masks at once: those of different constraints are shared out among the processors. Those of one constraint stay with one thread: they would
// need tables of their own, and making and filling those was measured to cost more than the second processor gains.
#include <algorithm>

#include "matcher.h"
#include "workers.h"

namespace scansion {

// What one batch holds: every matcher of it claimed, all their tables locked, in one order everywhere, so that batches cannot wait for each other.
struct Matcher::Batch {
    static constexpr std::size_t few = 12;  // new masks that are not worth waking a helper

    explicit Batch(const std::vector<Matcher*>& matchers) {
        claimed.reserve(matchers.size());
        tables.reserve(matchers.size());
        for (Matcher* m : matchers) {
            if (!m) continue;
            if (!m->in_use_.exchange(true)) {
                claimed.push_back(m);
                tables.push_back(m->tables_.get());
            } else if (std::find(claimed.begin(), claimed.end(), m) == claimed.end()) {
                release();
                throw std::logic_error("a matcher is used by two threads at once: fork() one for each");
            }
        }
        sort_unique(tables);
        locks.reserve(tables.size());
        for (Tables* t : tables) locks.emplace_back(t->mutex);
    }
    ~Batch() { release(); }
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;
    void release() {
        locks.clear();
        for (Matcher* m : claimed) m->in_use_.store(false);
    }
    std::vector<Matcher*> claimed;
    std::vector<Tables*> tables;
    std::vector<std::unique_lock<std::mutex>> locks;
};

void Matcher::fill_all(const std::vector<Matcher*>& matchers, const std::function<std::uint32_t*(std::size_t)>& row) {
    const Batch batch(matchers);
    auto fill = [&](std::size_t i) { matchers[i]->write_mask(row(i)); };
    std::vector<std::size_t> rows;
    std::size_t fresh = 0;
    for (std::size_t i = 0; i < matchers.size(); ++i)
        if (const Matcher* m = matchers[i]) {
            rows.push_back(i);
            fresh += !m->ended() && !m->tables_->masks.known(m->now());
        }
    if (fresh <= Batch::few || batch.tables.size() < 2) {
        std::for_each(rows.begin(), rows.end(), fill);
        return;
    }
    // Rows by constraint; the most first, so that none is left alone at the end.
    std::vector<std::vector<std::size_t>> lanes(batch.tables.size());
    for (std::size_t i : rows)
        lanes[static_cast<std::size_t>(std::lower_bound(batch.tables.begin(), batch.tables.end(), matchers[i]->tables_.get()) - batch.tables.begin())].push_back(i);
    std::stable_sort(lanes.begin(), lanes.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
    run_together(lanes.size(), [&](std::size_t k) { std::for_each(lanes[k].begin(), lanes[k].end(), fill); });
}

}  // namespace scansion
