// How long the words of a language are.
#include "language.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

namespace scansion {

bool LengthSet::any_in(std::uint64_t low, std::uint64_t high) const {
    if (low > high) return false;
    for (std::uint64_t i = low; i <= high && i < accepts.size(); ++i)
        if (accepts[i]) return true;
    if (period == 0 || high < accepts.size()) return false;
    std::uint64_t first = std::max<std::uint64_t>(low, accepts.size());
    for (std::uint64_t k = 0; k < period && first + k <= high; ++k)
        if (accepts[periodic_from + (first + k - periodic_from) % period]) return true;
    return false;
}

std::uint32_t Languages::min_length(LangId a) {
    if (nodes_[a].min_length != length_not_computed) return nodes_[a].min_length;
    if (nodes_[a].op == LangOp::concat) {  // a long text is a chain of these: from its end, without recursion
        std::vector<LangId> chain;
        for (LangId p = a; nodes_[p].op == LangOp::concat && nodes_[p].min_length == length_not_computed; p = nodes_[p].b) chain.push_back(p);
        for (; !chain.empty(); chain.pop_back()) {
            Node& n = nodes_[chain.back()];
            n.min_length = saturating_add(min_length(n.a), min_length(n.b));
        }
        return nodes_[a].min_length;
    }
    std::uint32_t out = unbounded;
    const LangOp op = nodes_[a].op;
    const std::uint32_t fa = nodes_[a].a, fb = nodes_[a].b;
    switch (op) {
        case LangOp::nothing:
            break;
        case LangOp::empty:
            out = 0;
            break;
        case LangOp::char_class:
            out = 1;
            break;
        case LangOp::automaton:
            out = automata_[fa].min_length[fb];
            break;
        case LangOp::concat: break;
        case LangOp::repeat: {
            std::uint32_t body = min_length(fa);
            std::uint64_t total = static_cast<std::uint64_t>(body) * fb;
            out = fb == 0 ? 0 : body == unbounded || total >= length_not_computed ? unbounded : static_cast<std::uint32_t>(total);
            break;
        }
        case LangOp::union_:
            for (LangId p : children(a)) out = std::min(out, min_length(p));
            break;
        case LangOp::intersection:
        case LangOp::complement:
            out = nodes_[a].nullable ? 0 : search_min_length(a);
            break;
    }
    nodes_[a].min_length = out;
    return out;
}

std::uint32_t Languages::search_min_length(LangId a) {
    LangId rest;
    std::uint32_t low, high;
    if (split_length(a, rest, low, high)) {
        std::uint32_t shortest_word = min_length(rest);
        if (shortest_word == unbounded || shortest_word > high) return unbounded;
        if (shortest_word >= low) return shortest_word;
        if (auto near = length_near(rest, low, high)) return *near;
        const LengthSet& set = lengths(rest);
        std::uint64_t stop = std::min<std::uint64_t>(high, std::max<std::uint64_t>(low, set.accepts.size()) + set.period);
        for (std::uint64_t i = low; i <= stop; ++i)
            if (set.any_in(i, i)) return static_cast<std::uint32_t>(i);
        return unbounded;
    }
    // Dijkstra over derivatives: a state whose own minimum is known ends its path.
    std::vector<std::vector<LangId>> levels(1, {a});
    std::unordered_set<LangId> seen{a};
    std::uint32_t best = unbounded;
    for (std::size_t depth = 0; depth < levels.size() && depth < best; ++depth) {
        for (std::size_t i = 0; i < levels[depth].size(); ++i) {
            LangId s = levels[depth][i];
            if (nodes_[s].nullable) return std::min<std::uint32_t>(best, static_cast<std::uint32_t>(depth));
            if (s != a && (nodes_[s].min_length != length_not_computed || nodes_[s].plain)) {
                best = std::min(best, saturating_add(static_cast<std::uint32_t>(depth), min_length(s)));
                continue;
            }
            if (seen.size() > state_limit)
                throw LimitExceeded("language_states", state_limit, "finding the shortest match of a pattern needs too many states");
            for (LangId t : derivatives(s).targets)
                if (seen.insert(t).second) {
                    if (levels.size() == depth + 1) levels.emplace_back();
                    levels[depth + 1].push_back(t);
                }
        }
    }
    return best;
}

// The least length of a word from `low` to `high`, where a few levels of derivatives show it.
std::optional<std::uint32_t> Languages::length_near(LangId a, std::uint32_t low, std::uint32_t high) {
    std::vector<LangId> level{a};
    std::size_t work = 0;
    for (std::uint32_t i = 0; i <= high && !level.empty() && work < state_limit; ++i) {
        if (i >= low && std::any_of(level.begin(), level.end(), [&](LangId s) { return nodes_[s].nullable; })) return i;
        std::vector<LangId> next;
        for (LangId s : level)
            for (LangId t : derivatives(s).targets)
                if (t != nothing) next.push_back(t);
        sort_unique(next);
        work += next.size() + 1;
        level = std::move(next);
    }
    return std::nullopt;
}

// True where a few levels of derivatives show it; false means "not seen".
bool Languages::has_words_of_at_least(LangId a, std::uint32_t low) {
    constexpr std::size_t width = 64;
    if (low > 256) return false;
    std::vector<LangId> level{a};
    for (std::uint32_t i = 0; i < low && !level.empty(); ++i) {
        std::vector<LangId> next;
        for (LangId s : level)
            for (LangId t : derivatives(s).targets)
                if (t != nothing && next.size() < width && std::find(next.begin(), next.end(), t) == next.end()) next.push_back(t);
        level = std::move(next);
    }
    for (LangId s : level)
        if (!is_nothing(s)) return true;
    return false;
}

// Lengths of words, by following sets of states level by level until a set recurs: ultimately periodic.
const LengthSet& Languages::lengths(LangId a) {
    if (nodes_[a].lengths) return *nodes_[a].lengths;
    auto set = std::make_unique<LengthSet>();
    std::map<std::vector<LangId>, std::size_t> seen;
    std::vector<LangId> level{a};
    std::size_t work = 0;
    while (true) {
        auto [it, fresh] = seen.try_emplace(level, set->accepts.size());
        if (!fresh) {
            set->periodic_from = it->second;
            set->period = set->accepts.size() - it->second;
            break;
        }
        bool accepts = false;
        std::vector<LangId> next;
        for (LangId s : level) {
            accepts |= nodes_[s].nullable;
            for (LangId t : derivatives(s).targets)
                if (t != nothing) next.push_back(t);
        }
        work += level.size() + 1;
        if (work > 40 * state_limit)
            throw LimitExceeded("language_states", state_limit, "finding the lengths of a pattern's matches needs too many states");
        set->accepts.push_back(accepts);
        sort_unique(next);
        if (next.empty()) break;
        level = std::move(next);
    }
    nodes_[a].lengths = std::move(set);
    return *nodes_[a].lengths;
}

std::optional<std::uint32_t> Languages::max_length(LangId a) {
    if (is_nothing(a)) return 0;
    std::uint32_t low, high;
    if (is_length_only(a, low, high)) return high == unbounded ? std::nullopt : std::optional(high);
    // Longest path through live states; a cycle among them means no bound.
    std::unordered_map<LangId, std::int64_t> longest;  // -1: on the path
    std::vector<std::pair<LangId, std::size_t>> stack{{a, 0}};
    longest[a] = -1;
    std::unordered_map<LangId, std::int64_t> partial{{a, 0}};
    while (!stack.empty()) {
        LangId s = stack.back().first;
        const auto& targets = derivatives(s).targets;
        if (stack.back().second < targets.size()) {
            LangId t = targets[stack.back().second];
            auto it = longest.find(t);
            if (it != longest.end() && it->second >= 0) {
                partial[s] = std::max(partial[s], it->second + 1);
                ++stack.back().second;
            } else if (t == nothing || is_nothing(t)) {
                ++stack.back().second;
            } else if (it != longest.end()) {
                return std::nullopt;
            } else {
                if (is_length_only(t, low, high)) {
                    if (high == unbounded) return std::nullopt;
                    longest[t] = high;
                    continue;
                }
                if (longest.size() > state_limit)
                    throw LimitExceeded("language_states", state_limit, "finding the longest match of a pattern needs too many states");
                longest[t] = -1;
                partial[t] = 0;
                stack.emplace_back(t, 0);
            }
        } else {
            longest[s] = partial[s];
            stack.pop_back();
        }
    }
    return static_cast<std::uint32_t>(longest[a]);
}

}  // namespace scansion
