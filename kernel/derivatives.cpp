// Derivatives of languages by every code point at once, composed from the tables of their parts.
#include "language.h"

#include <algorithm>
#include <functional>
#include <map>

namespace scansion {

LangId DerivativeTable::at(CodePoint c) const {
    std::size_t i = std::upper_bound(starts.begin(), starts.end(), c) - starts.begin();
    return targets[i - 1];
}

namespace {
// Merges interval tables; `join` sees the targets of one interval, in the order of `tables`.
DerivativeTable merge_tables(const std::vector<const DerivativeTable*>& tables, const std::function<LangId(const std::vector<LangId>&)>& join) {
    DerivativeTable out;
    std::vector<std::size_t> cursor(tables.size(), 0);
    std::vector<LangId> key(tables.size());
    std::map<std::vector<LangId>, LangId> seen;
    CodePoint position = 0;
    while (true) {
        CodePoint next = unbounded;
        for (std::size_t i = 0; i < tables.size(); ++i) {
            key[i] = tables[i]->targets[cursor[i]];
            if (cursor[i] + 1 < tables[i]->starts.size()) next = std::min(next, tables[i]->starts[cursor[i] + 1]);
        }
        auto [it, fresh] = seen.try_emplace(key, 0);
        if (fresh) it->second = join(key);
        if (out.targets.empty() || out.targets.back() != it->second) {
            out.starts.push_back(position);
            out.targets.push_back(it->second);
        }
        if (next == unbounded) break;
        position = next;
        for (std::size_t i = 0; i < tables.size(); ++i)
            if (cursor[i] + 1 < tables[i]->starts.size() && tables[i]->starts[cursor[i] + 1] == next) ++cursor[i];
    }
    return out;
}

template <class Map>
DerivativeTable map_table(const DerivativeTable& table, Map map) {
    DerivativeTable out;
    LangId last_in = unbounded, last_out = 0;
    for (std::size_t i = 0; i < table.targets.size(); ++i) {
        if (table.targets[i] != last_in) last_in = table.targets[i], last_out = map(last_in);
        if (out.targets.empty() || out.targets.back() != last_out) {
            out.starts.push_back(table.starts[i]);
            out.targets.push_back(last_out);
        }
    }
    return out;
}

DerivativeTable without_surrogates(const DerivativeTable& table) {
    DerivativeTable out;
    auto put = [&](CodePoint start, LangId target) {
        if (!out.targets.empty() && out.targets.back() == target) return;
        out.starts.push_back(start);
        out.targets.push_back(target);
    };
    for (std::size_t i = 0; i < table.targets.size(); ++i) {
        const CodePoint first = table.starts[i], last = i + 1 < table.starts.size() ? table.starts[i + 1] - 1 : max_code_point;
        if (first < surrogate_first) put(first, table.targets[i]);
        if (last >= surrogate_first && first <= surrogate_first) put(surrogate_first, Languages::nothing);
        if (last > surrogate_last) put(std::max(first, surrogate_last + 1), table.targets[i]);
    }
    return out;
}
}  // namespace

namespace {
// States from which the same words lead on become one, where every edge leads to a later state.
void merge_alike(Automaton& a) {
    std::vector<std::uint32_t> stands(a.edges.size());
    for (std::uint32_t s = static_cast<std::uint32_t>(a.edges.size()); s-- > 0;) {
        std::vector<AutomatonEdge> edges;
        for (const AutomatonEdge& e : a.edges[s]) {
            if (e.target <= s) return;
            if (!edges.empty() && edges.back().target == stands[e.target] && edges.back().last + 1 == e.first)
                edges.back().last = e.last;
            else
                edges.push_back({e.first, e.last, stands[e.target]});
        }
        a.edges[s] = std::move(edges);
        stands[s] = s;
        for (std::uint32_t other = s + 1; other < stands.size() && stands[s] == s; ++other)
            if (stands[other] == other && a.accepting[s] == a.accepting[other] && a.edges[s] == a.edges[other]) stands[s] = other;
    }
}
}  // namespace

// Intersections of small automata, as of a number's two bounds, are automata: their states are known to be alive, and their tables short.
void Languages::multiply_automata(std::vector<LangId>& parts) {
    auto is_automaton = [&](LangId p) { return nodes_[p].op == LangOp::automaton; };
    for (auto first = std::find_if(parts.begin(), parts.end(), is_automaton); first != parts.end(); ++first) {
        if (!is_automaton(*first)) continue;
        for (auto other = first + 1; other != parts.end();) {
            const std::optional<LangId> both = *other == *first ? *other : is_automaton(*other) ? product(*first, *other) : std::nullopt;
            if (!both) {
                ++other;
                continue;
            }
            *first = *both;
            parts.erase(other);
            if (!is_automaton(*both)) break;
            other = first + 1;
        }
    }
}

// nullopt where it would have too many states. That is then not asked again of other states of the two: there is a pair of them for each state of the
// intersection, and each would be searched in vain.
std::optional<LangId> Languages::product(LangId a, LangId b) {
    const std::uint64_t automata = std::uint64_t{nodes_[a].a} << 32 | nodes_[b].a, key = std::uint64_t{a} << 32 | b;
    if (large_products_.find(automata) != FlatMap::none) return std::nullopt;
    if (const std::uint32_t known = products_.find(key); known != FlatMap::none) return known;
    const Automaton &one = automaton_of(a), &other = automaton_of(b);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> states{{nodes_[a].b, nodes_[b].b}};
    Automaton both;
    auto number = [&](const std::pair<std::uint32_t, std::uint32_t>& state) {
        const auto at = std::find(states.begin(), states.end(), state) - states.begin();
        if (static_cast<std::size_t>(at) == states.size()) states.push_back(state);
        return static_cast<std::uint32_t>(at);
    };
    for (std::size_t s = 0; s < states.size() && states.size() <= product_limit; ++s) {
        const auto [at, also] = states[s];
        both.accepting.push_back(one.accepting[at] && other.accepting[also]);
        both.edges.emplace_back();
        const auto &left = one.edges[at], &right = other.edges[also];
        for (auto l = left.begin(), r = right.begin(); l != left.end() && r != right.end() && states.size() <= product_limit;) {
            const CodePoint first = std::max(l->first, r->first), last = std::min(l->last, r->last);
            if (first <= last) {
                const std::uint32_t target = number({l->target, r->target});
                both.edges[s].push_back({first, last, target});
            }
            l->last < r->last ? ++l : ++r;
        }
    }
    if (states.size() > product_limit) {
        large_products_.insert(automata, 1);
        return std::nullopt;
    }
    merge_alike(both);
    const LangId out = automaton(std::move(both), 0);
    products_.insert(key, out);
    return out;
}

const DerivativeTable& Languages::derivatives(LangId a) {
    if (!nodes_[a].table) {
        auto table = compute_table(a);
        nodes_[a].table = std::move(table);
    }
    return *nodes_[a].table;
}

std::unique_ptr<DerivativeTable> Languages::compute_table(LangId a) {
    auto out = std::make_unique<DerivativeTable>();
    auto gap = [&](CodePoint from, LangId target) {
        if (from > max_code_point) return;
        if (!out->starts.empty() && out->starts.back() == from) {
            out->targets.back() = target;
        } else if (out->targets.empty() || out->targets.back() != target) {
            out->starts.push_back(from);
            out->targets.push_back(target);
        }
    };
    const LangOp op = nodes_[a].op;
    const std::uint32_t fa = nodes_[a].a, fb = nodes_[a].b, fc = nodes_[a].c;
    switch (op) {
        case LangOp::nothing:
        case LangOp::empty:
            gap(0, nothing);
            break;
        case LangOp::char_class:
            gap(0, nothing);
            for (const Range& r : classes_[fa]) gap(r.first, empty), gap(r.last + 1, nothing);
            break;
        case LangOp::automaton: {
            gap(0, nothing);
            for (const AutomatonEdge& e : automata_[fa].edges[fb]) {
                gap(e.first, automaton_state(fa, e.target));
                gap(e.last + 1, nothing);
            }
            break;
        }
        case LangOp::concat: {
            // A literal prefix is the common case; recursion depth is that of the expression, not of the text.
            const DerivativeTable& head = derivatives(fa);
            DerivativeTable first = map_table(head, [&](LangId t) { return concat(t, fb); });
            if (nodes_[fa].nullable) {
                const DerivativeTable& tail = derivatives(fb);
                *out = merge_tables({&first, &tail}, [&](const std::vector<LangId>& k) { return union_({k[0], k[1]}); });
            } else {
                *out = std::move(first);
            }
            break;
        }
        case LangOp::repeat: {
            LangId rest = repeat(fa, fb == 0 ? 0 : fb - 1, fc == unbounded ? unbounded : fc - 1);
            *out = map_table(derivatives(fa), [&](LangId t) { return concat(t, rest); });
            break;
        }
        case LangOp::complement:
            // The complement is taken among strings of scalar values: a surrogate leads nowhere, in this table too.
            *out = without_surrogates(map_table(derivatives(fa), [&](LangId t) { return complement(t); }));
            break;
        case LangOp::union_:
        case LangOp::intersection: {
            std::vector<LangId> parts(children_.begin() + fa, children_.begin() + fa + fb);
            std::vector<const DerivativeTable*> tables;
            for (LangId p : parts) tables.push_back(&derivatives(p));
            *out = merge_tables(tables, [&](const std::vector<LangId>& k) { return op == LangOp::union_ ? union_(k) : intersection(k); });
            break;
        }
    }
    return out;
}

}  // namespace scansion
