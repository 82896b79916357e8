// Is a language empty, endless, bounded in length? Decided on its derivative automaton, under a limit on states.
#include "language.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace scansion {

bool Languages::split_length(LangId a, LangId& rest, std::uint32_t& low, std::uint32_t& high) {
    if (nodes_[a].op != LangOp::intersection) return false;
    std::vector<LangId> others;
    bool found = false;
    for (LangId p : children(a)) {
        if (!found && is_length_only(p, low, high))
            found = true;
        else
            others.push_back(p);
    }
    if (!found) return false;
    rest = intersection(std::move(others));
    return true;
}

bool Languages::is_nothing(LangId a) {
    if (nodes_[a].live == Live::unknown) {
        bool live = find_live(a);
        nodes_[a].live = live ? Live::live : Live::dead;
    }
    return nodes_[a].live == Live::dead;
}

// Alternatives that are derived one by one, through set operations alone.
std::size_t Languages::count_parts(LangId a) const {
    const Node& n = nodes_[a];
    if (n.op == LangOp::complement) return count_parts(n.a);
    if (n.op != LangOp::union_ && n.op != LangOp::intersection) return 1;
    std::size_t parts = 0;
    for (std::uint32_t i = 0; i < n.b; ++i) parts += count_parts(children_[n.a + i]);
    return parts;
}

bool Languages::find_live(LangId a) {
    LangId rest;
    std::uint32_t low, high;
    if (split_length(a, rest, low, high)) {
        std::uint32_t shortest_word = min_length(rest);
        if (shortest_word == unbounded || shortest_word > high) return false;
        if (shortest_word >= low) return true;
        if (high == unbounded && has_words_of_at_least(rest, low)) return true;
        return lengths(rest).any_in(low, high);
    }
    // Breadth first until something certainly non-empty is met; everything on the way there is live, and if nothing is met all is dead.
    std::vector<LangId> order{a};
    std::unordered_map<LangId, LangId> parent{{a, a}};
    std::size_t parts = 0;  // of all states: a search for a long text has a state for each place, with as many parts
    for (std::size_t i = 0; i < order.size(); ++i) {
        LangId s = order[i];
        parts += count_parts(s);
        if (nodes_[s].live == Live::live) {
            for (LangId p = s;; p = parent[p]) {
                nodes_[p].live = Live::live;
                if (p == a) return true;
            }
        }
        if (nodes_[s].live == Live::dead) continue;
        if (order.size() > state_limit || parts > part_limit)
            throw LimitExceeded("language_states", state_limit, "deciding whether a pattern can match anything needs too many states");
        for (LangId t : derivatives(s).targets)
            if (parent.try_emplace(t, s).second) order.push_back(t);
    }
    for (LangId s : order) nodes_[s].live = Live::dead;
    return false;
}

bool Languages::split_bounds(LangId a, LangId& rest, std::uint32_t& low, std::uint32_t& high) {
    LangId cls;
    if (is_class_repeat(a, cls, low, high)) {
        rest = repeat(cls, 0, unbounded);
        return rest != a;
    }
    // Where the least lengths of what is left must be searched for, deciding bound by bound is the cheaper way.
    return split_length(a, rest, low, high) && low == 0 && high != unbounded && nodes_[rest].plain;
}

bool Languages::loops_on(LangId a, CodePoint first, CodePoint last) {
    const DerivativeTable& table = derivatives(a);
    std::size_t i = static_cast<std::size_t>(std::upper_bound(table.starts.begin(), table.starts.end(), first) - table.starts.begin()) - 1;
    for (; i < table.starts.size() && table.starts[i] <= last; ++i)
        if (table.targets[i] != a) return false;
    return true;
}

bool Languages::is_endless(LangId a) {
    if (nodes_[a].endless != Live::unknown) return nodes_[a].endless == Live::live;
    // A finite language shows itself by a state without live cycles; exploring them all answers for every state met.
    constexpr std::size_t most = 200;
    std::vector<LangId> order{a};
    std::unordered_set<LangId> seen{a};
    bool endless = true;
    for (std::size_t i = 0; i < order.size() && endless; ++i) {
        if (nodes_[order[i]].endless == Live::live) continue;
        if (nodes_[order[i]].endless == Live::dead || order.size() > most || count(order[i], 1000) < 1000) endless = false;
        for (LangId t : derivatives(order[i]).targets)
            if (endless && !is_nothing(t) && seen.insert(t).second) order.push_back(t);
    }
    if (endless)
        for (LangId t : order) nodes_[t].endless = Live::live;
    else
        nodes_[a].endless = Live::dead;
    return endless;
}

}  // namespace scansion
