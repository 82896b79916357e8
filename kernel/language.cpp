// Languages as hash-consed expressions: construction and normal forms.
#include "language.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <unordered_set>

namespace scansion {

namespace {
std::uint64_t hash_ranges(const RangeSet& ranges) {
    std::uint64_t h = ranges.size();
    for (const Range& r : ranges) h = combine(combine(h, r.first), r.last);
    return h;
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
    if (op == LangOp::concat && nodes_[a].min_length != length_not_computed && nodes_[b].min_length != length_not_computed)
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
    sort_unique(texts);
    std::erase_if(texts, [](const auto& t) {
        return std::any_of(t.begin(), t.end(), [](CodePoint c) { return (c >= surrogate_first && c <= surrogate_last) || c > max_code_point; });
    });
    if (texts.empty()) return nothing;
    if (texts.size() == 1 && texts[0].size() < 2) return literal(texts[0]);
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
        a.words = true;
        for (std::size_t s = 0; s < n && a.words; ++s) {
            a.words = !a.accepting[s] || a.edges[s].empty();
            for (const AutomatonEdge& e : a.edges[s]) a.words &= e.first == e.last && e.target > s;
        }
        id = static_cast<std::uint32_t>(automata_.size());
        automata_.push_back(std::move(a));
        automaton_hashes_.emplace(h, id);
    }
    return automaton_state(id, start);
}

LangId Languages::automaton_state(std::uint32_t automaton, std::uint32_t state) {
    const Automaton& a = automata_[automaton];
    return a.edges[state].empty() ? empty : intern(LangOp::automaton, automaton, state, 0, a.accepting[state], true);
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
    sort_unique(flat);
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
    multiply_automata(flat);
    if (std::find(flat.begin(), flat.end(), nothing) != flat.end()) return nothing;
    has_empty |= std::erase(flat, empty) > 0;
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
    sort_unique(flat);
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

}  // namespace scansion
