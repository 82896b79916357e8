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
