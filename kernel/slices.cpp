// Slices: what a vocabulary makes of a lexeme state. Built on demand, shared by all grammars, kept within a budget.
#include <algorithm>

#include "vocabulary.h"

namespace scansion {

std::shared_ptr<const Slice> Vocabulary::cached(std::uint64_t key) {
    std::lock_guard lock(mutex_);
    auto it = slices_.find(key);
    if (it == slices_.end()) return nullptr;
    if (it->second.use != recent_.begin()) recent_.splice(recent_.begin(), recent_, it->second.use);
    return it->second.slice;
}

std::shared_ptr<const Slice> Vocabulary::keep(std::uint64_t key, std::shared_ptr<const Slice> built) {
    std::lock_guard lock(mutex_);
    if (auto it = slices_.find(key); it != slices_.end()) return it->second.slice;
    recent_.push_front(key);
    slices_[key] = {built, recent_.begin()};
    slice_bytes_ += built->bytes();
    while (slice_bytes_ > slice_budget && recent_.size() > 1) {
        auto old = slices_.find(recent_.back());
        slice_bytes_ -= old->second.slice->bytes();
        slices_.erase(old);
        recent_.pop_back();
    }
    return built;
}

std::shared_ptr<const Slice> Vocabulary::slice(std::uint32_t node, LexId lex) {
    const std::uint64_t key = (std::uint64_t{node} << 32) | lex;
    if (auto known = cached(key)) return known;
    std::uint32_t low = 0, high = 0;
    const LexId free = node == 0 ? Lexemes::instance().without_bounds(lex, low, high) : lex;
    if (free == lex) return keep(key, build_slice(node, lex, false));
    auto whole = measured_slice(free);
    // No token can reach the bounds: the strings might as well be unbounded.
    if (low == 0 && (whole->by_length.empty() || whole->by_length.back().first <= high) &&
        std::all_of(whole->ends.begin(), whole->ends.end(), [&](const Slice::End& e) { return e.characters <= high; }))
        return keep(key, slice(0, free));
    return keep(key, bounded_slice(*whole, low, high));
}

std::shared_ptr<const Slice> Vocabulary::measured_slice(LexId free) {
    const std::uint64_t key = (std::uint64_t{measured} << 32) | free;
    if (auto known = cached(key)) return known;
    return keep(key, build_slice(0, free, true));
}

void Vocabulary::keep_stay(Slice& slice, std::vector<std::uint32_t> stay) const {
    if (stay.size() > dense_limit) {
        slice.bits.assign(words(), 0);
        for (std::uint32_t id : stay) slice.bits[id / 32] |= 1u << (id % 32);
    } else {
        slice.stay = std::move(stay);
        slice.stay.shrink_to_fit();
    }
}

void Vocabulary::keep_exits(Slice& slice, const std::vector<std::uint32_t>& nodes) const {
    std::vector<std::uint32_t> small;
    for (std::uint32_t n : nodes) (trie_.nodes[n].end - n > exit_limit ? slice.exits : small).push_back(n);
    slice.remainders = merge_subtries(trie_, small);
}

// `measure`: of a JSON string's state at the root, also how long strings get.
std::unique_ptr<Slice> Vocabulary::build_slice(std::uint32_t node, LexId lex, bool measure) const {
    auto slice = std::make_unique<Slice>();
    Lexemes& lexemes = Lexemes::instance();
    std::vector<std::uint32_t> stay, exits;
    if (node == 0) stay.reserve(trie_.tokens.size());
    if (measure) slice->by_length.reserve(trie_.tokens.size());
    struct Level {
        std::uint32_t end;
        std::uint32_t characters;  // begun so far; an escape is begun by its backslash
        std::uint32_t sequences;   // UTF-8 sequences begun so far: the same but for escapes
        LexId lex;
        const LexRow* row;
        std::uint64_t loops;       // kinds of bytes that lead back here
        std::uint32_t still;       // characters a string must still get
    };
    std::unordered_map<LexId, std::pair<std::uint64_t, std::uint32_t>> known;
    LexId last_id = dead_lex;
    std::pair<std::uint64_t, std::uint32_t> last{0, 0};
    auto properties = [&](LexId id) {
        if (id == last_id) return last;
        auto [it, fresh] = known.try_emplace(id);
        if (fresh) it->second = {lexemes.looping_kinds(id), measure ? lexemes.min_characters(id) : 0};
        last_id = id;
        return last = it->second;
    };
    std::vector<Level> path;
    path.reserve(longest_ + 2);
    path.push_back({trie_.nodes[node].end, 0, 0, lex, &lexemes.row(lex), properties(lex).first, properties(lex).second});
    for (std::uint32_t n = node + 1; n < trie_.nodes[node].end;) {
        while (path.back().end <= n) path.pop_back();
        const TrieNode& t = trie_.nodes[n];
        const Level here = path.back();
        const LexId to = here.row->step(t.byte);
        if (to == dead_lex) {
            n = t.end;
            continue;
        }
        const bool closed = lexemes[to].key.mode == LexMode::end;
        Level next{t.end, here.characters, here.sequences + ((t.byte & 0xc0) != 0x80), to, here.row, here.loops, here.still};
        if (measure && !closed && lexemes[here.lex].key.mode == LexMode::body) ++next.characters;
        if (to != here.lex) {
            next.row = &lexemes.row(to);
            std::tie(next.loops, next.still) = properties(to);
        }
        if (closed) slice->ends.push_back({n, static_cast<std::uint32_t>(path.size()), next.characters});
        for (std::uint32_t i = 0; i < t.token_count; ++i) {
            const std::uint32_t id = trie_.tokens[t.first_token + i];
            stay.push_back(id);
            if (measure && !closed) slice->by_length.emplace_back(next.characters + next.still, id);
        }
        if (t.end == n + 1) {
            ++n;
            continue;
        }
        const bool accepts = lexemes.accepting(to);
        if (accepts) exits.push_back(n);
        if (next.row->live_bytes == 0) {
            n = t.end;
            continue;
        }
        if (next.loops && !accepts && !(kinds_[n] & ~next.loops)) {  // every byte below leads back here: the subtree is taken whole
            for (std::uint32_t i = t.first_token + t.token_count; i < trie_.nodes[t.end].first_token; ++i) {
                const std::uint32_t id = trie_.tokens[i];
                stay.push_back(id);
                if (measure) slice->by_length.emplace_back(next.characters + (characters_[id] - next.sequences) + next.still, id);
            }
            n = t.end;
            continue;
        }
        path.push_back(next);
        ++n;
    }
    keep_stay(*slice, std::move(stay));
    keep_exits(*slice, exits);
    if (measure) {  // counting sort: lengths are small, tokens many
        std::uint32_t most = 0;
        for (const auto& [length, id] : slice->by_length) most = std::max(most, length);
        std::vector<std::uint32_t> place(most + 2, 0);
        for (const auto& [length, id] : slice->by_length) ++place[length + 1];
        for (std::size_t i = 1; i < place.size(); ++i) place[i] += place[i - 1];
        std::vector<std::pair<std::uint32_t, std::uint32_t>> sorted(slice->by_length.size());
        for (const auto& entry : slice->by_length) sorted[place[entry.first]++] = entry;
        slice->by_length = std::move(sorted);
    }
    return slice;
}

// Of the measured slice of a string without bounds, what strings of `low` to `high` characters leave.
std::unique_ptr<Slice> Vocabulary::bounded_slice(const Slice& free, std::uint32_t low, std::uint32_t high) const {
    auto out = std::make_unique<Slice>();
    std::vector<std::uint32_t> stay, exits;
    auto last = std::upper_bound(free.by_length.begin(), free.by_length.end(), std::pair{high, 0u}, [](const auto& a, const auto& b) { return a.first < b.first; });
    auto within = [&](const Slice::End& e) { return e.characters >= low && e.characters <= high; };
    auto each_token = [&](const Slice::End& e, auto visit) {
        for (std::uint32_t i = 0; i < trie_.nodes[e.node].token_count; ++i) visit(trie_.tokens[trie_.nodes[e.node].first_token + i]);
    };
    for (const Slice::End& e : free.ends)
        if (within(e)) {
            out->ends.push_back(e);
            exits.push_back(e.node);
        }
    if (!free.bits.empty() && static_cast<std::size_t>(last - free.by_length.begin()) * 2 > free.by_length.size()) {
        out->bits = free.bits;
        auto clear = [&](std::uint32_t id) { out->bits[id / 32] &= ~(1u << (id % 32)); };
        for (auto it = last; it != free.by_length.end(); ++it) clear(it->second);
        for (const Slice::End& e : free.ends)
            if (!within(e)) each_token(e, clear);
    } else {
        for (auto it = free.by_length.begin(); it != last; ++it) stay.push_back(it->second);
        for (const Slice::End& e : out->ends) each_token(e, [&](std::uint32_t id) { stay.push_back(id); });
        keep_stay(*out, std::move(stay));
    }
    keep_exits(*out, exits);
    return out;
}

}  // namespace scansion
