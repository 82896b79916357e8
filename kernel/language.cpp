#include "language.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <unordered_set>

namespace scansion {

namespace {
constexpr std::uint32_t not_computed = unbounded - 1;
constexpr CodePoint surrogate_first = 0xd800, surrogate_last = 0xdfff;

std::uint64_t hash_ranges(const RangeSet& ranges) {
    std::uint64_t h = ranges.size();
    for (const Range& r : ranges) h = combine(combine(h, r.first), r.last);
    return h;
}

std::uint32_t saturating_add(std::uint64_t a, std::uint64_t b) {
    if (a == unbounded || b == unbounded) return unbounded;
    std::uint64_t sum = a + b;
    return sum >= not_computed ? unbounded : static_cast<std::uint32_t>(sum);
}
}  // namespace

RangeSet normalise(RangeSet ranges) {
    std::sort(ranges.begin(), ranges.end(), [](const Range& x, const Range& y) { return x.first < y.first; });
    RangeSet out;
    auto add = [&](CodePoint first, CodePoint last) {
        if (first > last) return;
        if (!out.empty() && first <= out.back().last + 1)
            out.back().last = std::max(out.back().last, last);
        else
            out.push_back({first, last});
    };
    for (Range r : ranges) {
        r.last = std::min(r.last, max_code_point);
        if (r.first > r.last) continue;
        if (r.first < surrogate_first) add(r.first, std::min(r.last, surrogate_first - 1));
        if (r.last > surrogate_last) add(std::max(r.first, surrogate_last + 1), r.last);
    }
    return out;
}

RangeSet union_ranges(const RangeSet& a, const RangeSet& b) {
    RangeSet all = a;
    all.insert(all.end(), b.begin(), b.end());
    return normalise(std::move(all));
}

RangeSet intersect_ranges(const RangeSet& a, const RangeSet& b) {
    RangeSet out;
    for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
        CodePoint first = std::max(a[i].first, b[j].first), last = std::min(a[i].last, b[j].last);
        if (first <= last) out.push_back({first, last});
        if (a[i].last < b[j].last)
            ++i;
        else
            ++j;
    }
    return out;
}

LangId DerivativeTable::at(CodePoint c) const {
    std::size_t i = std::upper_bound(starts.begin(), starts.end(), c) - starts.begin();
    return targets[i - 1];
}

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

Languages& Languages::instance() {
    static Languages* shared = new Languages;  // lives as long as the process: rows point into it
    return *shared;
}

Languages::Languages() {
    intern(LangOp::nothing, 0, 0, 0, false, true);
    nodes_[nothing].min_length = unbounded;
    nodes_[nothing].live = Live::dead;
    intern(LangOp::empty, 0, 0, 0, true, true);
    nodes_[empty].min_length = 0;
    intern(LangOp::complement, nothing, 0, 0, true, true);  // anything
    nodes_[anything].min_length = 0;
    nodes_[anything].live = Live::live;
    char_class({{0, max_code_point}});  // any_char
}

LangId Languages::intern(LangOp op, std::uint32_t a, std::uint32_t b, std::uint32_t c, bool nullable, bool plain) {
    std::uint64_t h = combine(combine(combine(static_cast<std::uint64_t>(op), a), b), c);
    std::uint32_t found = node_table_.find(h, [&](std::uint32_t i) {
        const Node& n = nodes_[i];
        return n.op == op && n.a == a && n.b == b && n.c == c;
    });
    if (found != IndexTable::none) return found;
    LangId id = static_cast<LangId>(nodes_.size());
    Node& n = nodes_.push();
    n.op = op;
    n.a = a;
    n.b = b;
    n.c = c;
    n.nullable = nullable;
    n.plain = plain;
    if (nullable || (plain && op != LangOp::nothing)) n.live = Live::live;
    // Known at once where the parts are known, so that asking a long literal does not recurse along it.
    if (op == LangOp::char_class) n.min_length = 1;
    if (op == LangOp::concat && nodes_[a].min_length != not_computed && nodes_[b].min_length != not_computed)
        n.min_length = saturating_add(nodes_[a].min_length, nodes_[b].min_length);
    node_table_.insert(h, id);
    return id;
}

LangId Languages::intern_list(LangOp op, const std::vector<LangId>& parts) {
    if (parts.size() > width_limit)
        throw LimitExceeded("language_width", width_limit, "a union or intersection of languages has too many members");
    std::uint64_t h = combine(0x51ed270b, static_cast<std::uint64_t>(op));
    for (LangId p : parts) h = combine(h, p);
    std::uint32_t found = node_table_.find(h, [&](std::uint32_t i) {
        const Node& n = nodes_[i];
        return n.op == op && n.b == parts.size() && std::equal(parts.begin(), parts.end(), children_.begin() + n.a);
    });
    if (found != IndexTable::none) return found;
    bool all_nullable = true, any_nullable = false, plain = op == LangOp::union_;
    for (LangId p : parts) {
        all_nullable &= nodes_[p].nullable;
        any_nullable |= nodes_[p].nullable;
        plain &= nodes_[p].plain;
    }
    LangId id = static_cast<LangId>(nodes_.size());
    Node& n = nodes_.push();
    n.op = op;
    n.a = static_cast<std::uint32_t>(children_.size());
    n.b = static_cast<std::uint32_t>(parts.size());
    n.nullable = op == LangOp::union_ ? any_nullable : all_nullable;
    n.plain = plain;
    if (n.nullable || plain) n.live = Live::live;
    children_.insert(children_.end(), parts.begin(), parts.end());
    node_table_.insert(h, id);
    return id;
}

std::uint32_t Languages::class_id(RangeSet ranges) {
    std::uint64_t h = hash_ranges(ranges);
    std::uint32_t found = class_table_.find(h, [&](std::uint32_t i) { return classes_[i] == ranges; });
    if (found != IndexTable::none) return found;
    std::uint32_t id = static_cast<std::uint32_t>(classes_.size());
    classes_.push_back(std::move(ranges));
    class_table_.insert(h, id);
    return id;
}

std::vector<LangId> Languages::children(LangId a) const {
    const Node& n = nodes_[a];
    switch (n.op) {
        case LangOp::union_:
        case LangOp::intersection:
            return {children_.begin() + n.a, children_.begin() + n.a + n.b};
        case LangOp::concat:
            return {n.a, n.b};
        case LangOp::complement:
        case LangOp::repeat:
            return {n.a};
        default:
            return {};
    }
}

LangId Languages::char_class(RangeSet ranges) {
    ranges = normalise(std::move(ranges));
    if (ranges.empty()) return nothing;
    return intern(LangOp::char_class, class_id(std::move(ranges)), 0, 0, false, true);
}

LangId Languages::literal(const std::vector<CodePoint>& text) {
    LangId out = empty;
    for (std::size_t i = text.size(); i-- > 0;) {
        if (text[i] >= surrogate_first && text[i] <= surrogate_last) return nothing;
        out = concat(char_class({{text[i], text[i]}}), out);
    }
    return out;
}

LangId Languages::literals(std::vector<std::vector<CodePoint>> texts) {
    std::sort(texts.begin(), texts.end());
    texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
    std::erase_if(texts, [](const auto& t) {
        return std::any_of(t.begin(), t.end(), [](CodePoint c) { return (c >= surrogate_first && c <= surrogate_last) || c > max_code_point; });
    });
    if (texts.empty()) return nothing;
    if (texts.size() == 1) return literal(texts[0]);
    Automaton trie;
    std::size_t total = 1;
    for (const auto& t : texts) total += t.size();
    if (total > 20'000'000) throw LimitExceeded("literal_size", 20'000'000, "a set of literal strings is too large");
    trie.edges.emplace_back();
    trie.accepting.push_back(false);
    std::vector<std::uint32_t> path{0};
    const std::vector<CodePoint>* previous = nullptr;
    for (const auto& t : texts) {  // sorted: share the prefix with the word before
        std::size_t common = 0;
        if (previous)
            while (common < previous->size() && common < t.size() && (*previous)[common] == t[common]) ++common;
        path.resize(common + 1);
        for (std::size_t i = common; i < t.size(); ++i) {
            std::uint32_t next = static_cast<std::uint32_t>(trie.edges.size());
            trie.edges[path.back()].push_back({t[i], t[i], next});
            trie.edges.emplace_back();
            trie.accepting.push_back(false);
            path.push_back(next);
        }
        trie.accepting[path.back()] = true;
        previous = &t;
    }
    return automaton(std::move(trie), 0);
}

LangId Languages::automaton(Automaton a, std::uint32_t start) {
    std::size_t n = a.edges.size();
    if (start >= n || a.accepting.size() != n) throw Malformed("automaton: start or accepting out of range");
    std::vector<std::vector<std::uint32_t>> reverse(n);
    std::uint64_t h = combine(n, 0xa07);
    for (std::size_t s = 0; s < n; ++s) {
        auto& row = a.edges[s];
        std::sort(row.begin(), row.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
        for (std::size_t i = 0; i < row.size(); ++i) {
            if (row[i].target >= n || row[i].first > row[i].last || row[i].last > max_code_point || (i && row[i].first <= row[i - 1].last))
                throw Malformed("automaton: state " + std::to_string(s) + " has overlapping or out-of-range transitions");
            reverse[row[i].target].push_back(static_cast<std::uint32_t>(s));
        }
    }
    a.min_length.assign(n, unbounded);
    std::deque<std::uint32_t> queue;
    for (std::size_t s = 0; s < n; ++s)
        if (a.accepting[s]) a.min_length[s] = 0, queue.push_back(static_cast<std::uint32_t>(s));
    while (!queue.empty()) {
        std::uint32_t s = queue.front();
        queue.pop_front();
        for (std::uint32_t p : reverse[s])
            if (a.min_length[p] == unbounded) a.min_length[p] = a.min_length[s] + 1, queue.push_back(p);
    }
    for (std::size_t s = 0; s < n; ++s) {
        std::erase_if(a.edges[s], [&](const AutomatonEdge& e) { return a.min_length[e.target] == unbounded; });
        h = combine(h, a.accepting[s]);
        for (const auto& e : a.edges[s]) h = combine(combine(combine(h, e.first), e.last), e.target);
    }
    if (a.min_length[start] == unbounded) return nothing;
    std::uint32_t id = unbounded;
    auto [first, last] = automaton_hashes_.equal_range(h);
    for (auto it = first; it != last; ++it)
        if (automata_[it->second].edges == a.edges && automata_[it->second].accepting == a.accepting) id = it->second;
    if (id == unbounded) {
        id = static_cast<std::uint32_t>(automata_.size());
        automata_.push_back(std::move(a));
        automaton_hashes_.emplace(h, id);
    }
    if (automata_[id].edges[start].empty()) return empty;
    return intern(LangOp::automaton, id, start, 0, automata_[id].accepting[start], true);
}

LangId Languages::concat(LangId a, LangId b) {
    if (a == nothing || b == nothing) return nothing;
    if (a == empty) return b;
    if (b == empty) return a;
    if (a == anything && (b == anything || (nodes_[b].op == LangOp::concat && nodes_[b].a == anything))) return b;
    if (nodes_[a].op == LangOp::concat) {
        // Right-associate iteratively: long literals would otherwise recurse as deep as they are long.
        std::vector<LangId> heads;
        while (nodes_[a].op == LangOp::concat) {
            heads.push_back(nodes_[a].a);
            a = nodes_[a].b;
        }
        LangId out = concat(a, b);
        while (!heads.empty()) {
            out = concat(heads.back(), out);
            heads.pop_back();
        }
        return out;
    }
    std::uint32_t al, ah, bl, bh;
    if (is_length_only(a, al, ah) && is_length_only(b, bl, bh))
        return repeat(any_char, saturating_add(al, bl), saturating_add(ah, bh));
    return intern(LangOp::concat, a, b, 0, nodes_[a].nullable && nodes_[b].nullable, nodes_[a].plain && nodes_[b].plain);
}

LangId Languages::concat(const std::vector<LangId>& parts) {
    LangId out = empty;
    for (std::size_t i = parts.size(); i-- > 0;) out = concat(parts[i], out);
    return out;
}

bool Languages::is_length_only(LangId a, std::uint32_t& low, std::uint32_t& high) const {
    const Node& n = nodes_[a];
    if (a == anything) return low = 0, high = unbounded, true;
    if (a == any_char) return low = 1, high = 1, true;
    if (n.op == LangOp::repeat && n.a == any_char) return low = n.b, high = n.c, true;
    return false;
}

LangId Languages::union_(std::vector<LangId> parts) {
    std::vector<LangId> flat;
    RangeSet ranges;
    bool has_class = false, has_empty = false, other_nullable = false;
    LangId only_class = nothing;
    auto add = [&](LangId p) {
        if (nodes_[p].op == LangOp::char_class) {
            if (has_class) {
                ranges = union_ranges(ranges, class_ranges(p));
                only_class = unbounded;
            } else {
                ranges = class_ranges(p);
                only_class = p;
            }
            has_class = true;
        } else if (p == empty) {
            has_empty = true;
        } else if (p != nothing) {
            other_nullable |= nodes_[p].nullable;
            flat.push_back(p);
        }
    };
    for (LangId p : parts) {
        if (p == anything) return anything;
        if (nodes_[p].op == LangOp::union_) {
            for (std::uint32_t i = 0; i < nodes_[p].b; ++i) add(children_[nodes_[p].a + i]);
        } else {
            add(p);
        }
    }
    if (has_class) flat.push_back(only_class == unbounded ? char_class(std::move(ranges)) : only_class);
    if (has_empty && !other_nullable) flat.push_back(empty);
    std::sort(flat.begin(), flat.end());
    flat.erase(std::unique(flat.begin(), flat.end()), flat.end());
    for (LangId p : flat)
        if (nodes_[p].op == LangOp::complement && std::binary_search(flat.begin(), flat.end(), nodes_[p].a)) return anything;
    // any_char{l,h} members merge where they touch, so that counters do not pile up.
    if (flat.size() > 1) {
        std::vector<std::pair<std::uint32_t, std::uint32_t>> spans;
        std::uint32_t low, high;
        for (LangId p : flat)
            if (is_length_only(p, low, high)) spans.emplace_back(low, high);
        if (spans.size() > 1 || (spans.size() == 1 && has_empty && !other_nullable && spans[0].first == 1)) {
            if (has_empty && !other_nullable) spans.emplace_back(0, 0);
            std::erase_if(flat, [&](LangId p) { return is_length_only(p, low, high) || (p == empty); });
            std::sort(spans.begin(), spans.end());
            std::vector<std::pair<std::uint32_t, std::uint32_t>> merged;
            for (auto s : spans) {
                if (!merged.empty() && s.first <= saturating_add(merged.back().second, 1))
                    merged.back().second = std::max(merged.back().second, s.second);
                else
                    merged.push_back(s);
            }
            for (auto [l, h] : merged) flat.push_back(repeat(any_char, l, h));
            std::sort(flat.begin(), flat.end());
        }
    }
    if (flat.empty()) return has_empty ? empty : nothing;
    if (flat.size() == 1) return flat[0];
    return intern_list(LangOp::union_, flat);
}

LangId Languages::intersection(std::vector<LangId> parts) {
    std::vector<LangId> flat;
    RangeSet ranges;
    bool has_class = false, has_empty = false;
    std::uint32_t low = 0, high = unbounded, l, h;
    auto add = [&](LangId p) {
        if (nodes_[p].op == LangOp::char_class && p != any_char) {
            ranges = has_class ? intersect_ranges(ranges, class_ranges(p)) : class_ranges(p);
            has_class = true;
        } else if (p == empty) {
            has_empty = true;
        } else if (is_length_only(p, l, h)) {
            low = std::max(low, l);
            high = std::min(high, h);
        } else {
            flat.push_back(p);
        }
    };
    for (LangId p : parts) {
        if (p == nothing) return nothing;
        if (nodes_[p].op == LangOp::intersection) {
            for (std::uint32_t i = 0; i < nodes_[p].b; ++i) add(children_[nodes_[p].a + i]);
        } else {
            add(p);
        }
    }
    if (low > high) return nothing;
    if (has_empty) {
        if (low > 0 || has_class) return nothing;
        for (LangId p : flat)
            if (!nodes_[p].nullable) return nothing;
        return empty;
    }
    if (has_class) {
        if (low > 1 || high < 1) return nothing;
        low = 0, high = unbounded;
        LangId c = char_class(std::move(ranges));
        if (c == nothing) return nothing;
        flat.push_back(c);
    }
    if (high == 0) {
        for (LangId p : flat)
            if (!nodes_[p].nullable) return nothing;
        return empty;
    }
    std::sort(flat.begin(), flat.end());
    flat.erase(std::unique(flat.begin(), flat.end()), flat.end());
    for (LangId p : flat)
        if (nodes_[p].op == LangOp::complement && std::binary_search(flat.begin(), flat.end(), nodes_[p].a)) return nothing;
    if (low > 0 || high != unbounded) {
        // A bound that every word keeps anyway would only multiply states.
        bool needed = true;
        if (flat.size() == 1 && low > 0 && min_length(flat[0]) >= low) {
            low = 0;
            needed = high != unbounded;
        }
        if (needed) {
            flat.push_back(repeat(any_char, low, high));
            std::sort(flat.begin(), flat.end());
        }
    }
    if (flat.empty()) return anything;
    if (flat.size() == 2) {  // class{a,b} within any{c,d} is class{max,min}
        LangId cls;
        std::uint32_t low2, high2;
        for (std::size_t i = 0; i < 2; ++i)
            if (is_length_only(flat[1 - i], l, h) && is_class_repeat(flat[i], cls, low2, high2)) {
                low2 = std::max(low2, l), high2 = std::min(high2, h);
                return low2 > high2 ? nothing : repeat(cls, low2, high2);
            }
    }
    if (flat.size() == 1) return flat[0];
    return intern_list(LangOp::intersection, flat);
}

LangId Languages::complement(LangId a) {
    if (nodes_[a].op == LangOp::complement) return nodes_[a].a;
    return intern(LangOp::complement, a, 0, 0, !nodes_[a].nullable, false);
}

LangId Languages::repeat(LangId body, std::uint32_t low, std::uint32_t high) {
    if (low > high) return nothing;
    if (high == 0 || body == empty) return empty;
    if (body == nothing) return low == 0 ? empty : nothing;
    if (nodes_[body].nullable) low = 0;
    if (low == 1 && high == 1) return body;
    if (body == anything) return anything;
    if (nodes_[body].op == LangOp::repeat && nodes_[body].b <= 1 && nodes_[body].c == unbounded && high == unbounded)
        return repeat(nodes_[body].a, nodes_[body].b == 0 ? 0 : low, unbounded);
    if (body == any_char && low == 0 && high == unbounded) return anything;
    if (low == 0 && high == 1) return body == any_char ? intern(LangOp::repeat, body, 0, 1, true, true) : union_({empty, body});
    return intern(LangOp::repeat, body, low, high, low == 0, nodes_[body].plain);
}

bool Languages::is_class_repeat(LangId a, LangId& cls, std::uint32_t& low, std::uint32_t& high) const {
    const Node& n = nodes_[a];
    if (a == anything) return cls = any_char, low = 0, high = unbounded, true;
    if (n.op == LangOp::char_class) return cls = a, low = high = 1, true;
    if (n.op == LangOp::repeat && nodes_[n.a].op == LangOp::char_class) return cls = n.a, low = n.b, high = n.c, true;
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

// ---- derivatives -----------------------------------------------------------------------------------------------

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
            // Copied: interning below may move `automata_`... it does not, but `edges` must stay valid across intern().
            const auto edges = automata_[fa].edges[fb];
            for (const auto& e : edges) {
                bool leaf = automata_[fa].edges[e.target].empty();
                LangId target = leaf ? empty : intern(LangOp::automaton, fa, e.target, 0, automata_[fa].accepting[e.target], true);
                gap(e.first, target);
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

// ---- questions -------------------------------------------------------------------------------------------------

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
    for (std::size_t i = 0; i < order.size(); ++i) {
        LangId s = order[i];
        if (nodes_[s].live == Live::live) {
            for (LangId p = s;; p = parent[p]) {
                nodes_[p].live = Live::live;
                if (p == a) return true;
            }
        }
        if (nodes_[s].live == Live::dead) continue;
        if (order.size() > state_limit)
            throw LimitExceeded("language_states", state_limit, "deciding whether a pattern can match anything needs too many states");
        for (LangId t : derivatives(s).targets)
            if (parent.try_emplace(t, s).second) order.push_back(t);
    }
    for (LangId s : order) nodes_[s].live = Live::dead;
    return false;
}

std::uint32_t Languages::min_length(LangId a) {
    if (nodes_[a].min_length != not_computed) return nodes_[a].min_length;
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
        case LangOp::concat: {
            std::uint32_t head = min_length(fa);
            std::uint32_t tail = min_length(fb);
            out = saturating_add(head, tail);
            break;
        }
        case LangOp::repeat: {
            std::uint32_t body = min_length(fa);
            std::uint64_t total = static_cast<std::uint64_t>(body) * fb;
            out = fb == 0 ? 0 : body == unbounded || total >= not_computed ? unbounded : static_cast<std::uint32_t>(total);
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
            if (s != a && (nodes_[s].min_length != not_computed || nodes_[s].plain)) {
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
        std::sort(next.begin(), next.end());
        next.erase(std::unique(next.begin(), next.end()), next.end());
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
        std::sort(next.begin(), next.end());
        next.erase(std::unique(next.begin(), next.end()), next.end());
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

std::uint64_t Languages::count(LangId a, std::uint64_t limit) {
    std::unordered_map<LangId, std::uint64_t> known;
    std::unordered_set<LangId> path;
    std::function<std::uint64_t(LangId, int)> visit = [&](LangId s, int depth) -> std::uint64_t {
        if (is_nothing(s)) return 0;
        if (auto it = known.find(s); it != known.end()) return it->second;
        if (!path.insert(s).second) return limit;  // a cycle through a live state: endless
        if (depth > 3000 || known.size() > state_limit) return limit;
        std::uint64_t total = nodes_[s].nullable;
        const DerivativeTable& table = derivatives(s);
        auto width = [&](std::size_t i) {
            CodePoint first = table.starts[i], end = i + 1 < table.starts.size() ? table.starts[i + 1] : max_code_point + 1;
            std::uint64_t n = end - first;
            CodePoint low = std::max(first, surrogate_first), high = std::min(end, surrogate_last + 1);
            return low < high ? n - (high - low) : n;
        };
        for (std::size_t i = 0; i < table.targets.size() && total < limit; ++i)
            if (!is_nothing(table.targets[i])) total += width(i);  // each live target holds a word at least
        if (total < limit) {
            total = nodes_[s].nullable;
            for (std::size_t i = 0; i < table.targets.size() && total < limit; ++i) {
                std::uint64_t n = width(i);
                if (n) total += std::min(limit, n * std::min(limit, visit(table.targets[i], depth + 1)));
            }
        }
        path.erase(s);
        return known[s] = std::min(total, limit);
    };
    return visit(a, 0);
}

std::optional<std::vector<std::vector<CodePoint>>> Languages::words(LangId a, std::size_t limit) {
    if (count(a, limit + 1) > limit) return std::nullopt;
    std::vector<std::vector<CodePoint>> out;
    std::vector<CodePoint> word;
    std::function<void(LangId)> visit = [&](LangId s) {
        if (is_nothing(s)) return;
        if (nodes_[s].nullable) out.push_back(word);
        const DerivativeTable& table = derivatives(s);
        for (std::size_t i = 0; i < table.targets.size(); ++i) {
            if (is_nothing(table.targets[i])) continue;
            CodePoint end = i + 1 < table.starts.size() ? table.starts[i + 1] : max_code_point + 1;
            for (CodePoint c = table.starts[i]; c < end; ++c) {
                if (c >= surrogate_first && c <= surrogate_last) continue;
                word.push_back(c);
                visit(table.targets[i]);
                word.pop_back();
            }
        }
    };
    visit(a);
    return out;
}

std::optional<std::vector<CodePoint>> Languages::shortest(LangId a) {
    if (is_nothing(a)) return std::nullopt;
    std::vector<CodePoint> out;
    std::uint32_t left = min_length(a);
    if (left > word_limit) throw LimitExceeded("word_length", word_limit, "the shortest match has more than " + std::to_string(word_limit) + " characters");
    for (; left > 0; --left) {
        const DerivativeTable& table = derivatives(a);
        bool moved = false;
        // Printable ASCII first, so that witnesses read well.
        for (int pass = 0; pass < 2 && !moved; ++pass) {
            for (std::size_t i = 0; i < table.targets.size() && !moved; ++i) {
                CodePoint end = i + 1 < table.starts.size() ? table.starts[i + 1] : max_code_point + 1;
                CodePoint c = table.starts[i];
                if (pass == 0) {
                    c = std::max<CodePoint>(c, 0x20);
                    if (c >= std::min<CodePoint>(end, 0x7f)) continue;
                    if (c <= '0' && '0' < end)
                        c = '0';
                    else if (c <= 'a' && 'a' < end)
                        c = 'a';
                } else if (c >= surrogate_first && c <= surrogate_last) {
                    c = surrogate_last + 1;
                    if (c >= end) continue;
                }
                if (min_length(table.targets[i]) != left - 1) continue;
                out.push_back(c);
                a = table.targets[i];
                moved = true;
            }
        }
        if (!moved) throw Malformed("internal: shortest word of a language not found");
    }
    return out;
}

bool Languages::matches(LangId a, const std::vector<CodePoint>& text) {
    for (CodePoint c : text) {
        a = derivative(a, c);
        if (a == nothing) return false;
    }
    return nodes_[a].nullable;
}

}  // namespace scansion
