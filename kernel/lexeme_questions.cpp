// What masks and completions ask of lexeme states: loops, bounds, shortest ways out.
#include <algorithm>
#include <iterator>
#include <queue>
#include <unordered_map>

#include "lexeme.h"
#include "trie.h"

namespace scansion {

namespace {
using Lock = std::lock_guard<Languages::Mutex>;
Languages& languages() { return Languages::instance(); }
constexpr std::uint32_t not_computed = 0xfffffffeu;
}  // namespace

std::uint64_t Lexemes::looping_kinds(LexId id) {
    const LexKey& k = states_[id].key;
    if (k.mode != LexMode::text && k.mode != LexMode::body) return 0;
    const LexRow& r = row(id);
    std::uint64_t broken = 0;
    for (std::uint32_t b = 0; b < 0x80; ++b)
        if (r.step(static_cast<std::uint8_t>(b)) != id) broken |= byte_kind[b];
    std::uint64_t loops = ((std::uint64_t{1} << 44) - 1) & ~broken;
    if (!loops) return 0;
    Lock lock(languages().mutex);
    for (std::size_t g = 0; g < std::size(wide_groups); ++g)
        if (languages().loops_on(k.lang, wide_groups[g].first, wide_groups[g].last)) loops |= std::uint64_t{1} << (first_wide_bit + static_cast<int>(g));
    return loops;
}

// An upper bound of the bytes to acceptance: those of a word with the fewest characters. It is kept for every state on the way.
std::uint32_t Lexemes::along_a_word(LexId id) {
    const LexKey k = states_[id].key;
    std::string spelled = k.mode == LexMode::quote ? "\"" : "";
    std::uint8_t bytes[4];
    if (auto word = languages().shortest(k.lang))
        for (CodePoint c : *word) {
            if (k.json)
                append_json_character(spelled, c);
            else
                spelled.append(reinterpret_cast<const char*>(bytes), encode_utf8(c, bytes));
        }
    if (k.json) spelled += '"';
    std::uint32_t left = static_cast<std::uint32_t>(spelled.size()) + (k.mode == LexMode::quote || k.mode == LexMode::body || k.mode == LexMode::text ? 0 : 8);
    const std::uint32_t bound = states_[id].min_bytes = left;  // inside a character: what that may still take, too
    LexId at = id;
    for (std::size_t i = 0; i < spelled.size() && at != dead_lex; ++i, --left) {
        if (states_[at].min_bytes == not_computed) states_[at].min_bytes = left;
        at = step(at, static_cast<std::uint8_t>(spelled[i]));
    }
    return bound;
}

std::uint32_t Lexemes::min_bytes(LexId id) {
    Lock lock(languages().mutex);
    if (states_[id].min_bytes != not_computed) return states_[id].min_bytes;
    // Best first to the nearest accepting or already known state. Every character takes at least a byte, so the characters a
    // state still needs are a lower bound: without it the search would wander through all the half-written characters.
    struct Visit {
        LexId id;
        std::uint32_t parent, depth;
    };
    struct Open {
        std::uint32_t bound, visit;
        bool operator<(const Open& o) const { return bound != o.bound ? bound > o.bound : visit < o.visit; }
    };
    auto needed = [&](LexId s) -> std::uint32_t {
        if (states_[s].accepting) return 0;
        if (states_[s].min_bytes != not_computed) return states_[s].min_bytes;
        const LexKey& k = states_[s].key;
        if (k.mode == LexMode::keys || k.mode == LexMode::key_tail) return 0;  // their `lang` is not a language
        return languages().min_length(k.lang);
    };
    std::vector<Visit> order{{id, 0, 0}};
    std::unordered_map<LexId, std::uint32_t> depth_of{{id, 0}};
    std::priority_queue<Open> open;
    std::uint32_t first = needed(id);
    if (first != 0xffffffffu) open.push({first, 0});
    while (!open.empty()) {
        Open top = open.top();
        open.pop();
        Visit v = order[top.visit];
        if (depth_of[v.id] < v.depth) continue;
        std::uint32_t here = states_[v.id].accepting ? 0 : states_[v.id].min_bytes;
        if (here != not_computed) {
            std::uint32_t best = v.depth + here;
            for (std::uint32_t i = top.visit;; i = order[i].parent) {
                states_[order[i].id].min_bytes = best - order[i].depth;
                if (i == 0) break;
            }
            return best;
        }
        if (order.size() > 20000) return along_a_word(id);
        const LexRow& r = row(v.id);
        for (LexId t : r.targets) {
            if (t == dead_lex) continue;
            std::uint32_t left = needed(t);
            if (left == 0xffffffffu) continue;
            auto [it, fresh] = depth_of.try_emplace(t, v.depth + 1);
            if (!fresh && it->second <= v.depth + 1) continue;
            it->second = v.depth + 1;
            open.push({v.depth + 1 + left, static_cast<std::uint32_t>(order.size())});
            order.push_back({t, top.visit, v.depth + 1});
        }
    }
    return states_[id].min_bytes = 0xffffffffu;
}

LexId Lexemes::fold_lengths(LexId id, std::uint32_t longest) {
    const LexKey& k = states_[id].key;
    if (k.mode != LexMode::body && k.mode != LexMode::quote && k.mode != LexMode::text) return id;
    LangId cls;
    std::uint32_t low, high;
    Lock lock(languages().mutex);
    if (!languages().is_class_repeat(k.lang, cls, low, high)) {
        const LangId far = languages().fold_far_counts(k.lang, longest);
        return far == k.lang ? id : in_language(id, far);
    }
    // No token holds more than `longest` characters: a larger minimum forbids every end, a larger maximum forbids nothing.
    std::uint32_t folded_low = std::min(low, longest + 1), folded_high = high >= longest ? unbounded : high;
    if (folded_low == low && folded_high == high) return id;
    return in_language(id, languages().repeat(cls, folded_low, folded_high));
}

LexId Lexemes::without_bounds(LexId id, std::uint32_t& low, std::uint32_t& high) {
    const LexKey& k = states_[id].key;
    if (k.mode != LexMode::body) return id;
    LangId rest;
    Lock lock(languages().mutex);
    if (!languages().split_bounds(k.lang, rest, low, high)) return id;
    return in_language(id, rest);
}

LexId Lexemes::in_language(LexId id, LangId language) {
    Lock lock(languages().mutex);
    LexKey key = states_[id].key;
    key.lang = language;
    return intern(key);
}

std::optional<std::uint32_t> Lexemes::rounds(LexId id, LangId body, std::uint32_t from) {
    const LexKey& k = states_[id].key;
    Lock lock(languages().mutex);
    const auto counter = languages().counter(k.lang);
    if (!counter || counter->body != body || counter->high > from) return std::nullopt;
    return from - counter->high + (k.mode != LexMode::body);
}

std::uint32_t Lexemes::min_characters(LexId id) {
    const LexKey& k = states_[id].key;
    Lock lock(languages().mutex);
    auto least = [&](CodePoint first, CodePoint last) {  // of what may follow a character in the span
        const DerivativeTable& table = languages().derivatives(k.lang);
        std::size_t i = static_cast<std::size_t>(std::upper_bound(table.starts.begin(), table.starts.end(), first) - table.starts.begin()) - 1;
        std::uint32_t best = unbounded;
        for (; i < table.starts.size() && table.starts[i] <= last; ++i) best = std::min(best, languages().min_length(table.targets[i]));
        return best;
    };
    switch (k.mode) {
        case LexMode::body:
        case LexMode::uniform: return languages().min_length(k.lang);
        case LexMode::partial: {
            CodePoint first, last;
            prefix_span(k.value & 0xfffffff, k.extra, k.value >> 28, first, last);
            return least(first, last);
        }
        case LexMode::escape: return least(0, max_code_point);
        case LexMode::hex: {
            const std::uint32_t first = k.value << (4 * k.extra), last = first | ((1u << (4 * k.extra)) - 1);
            const std::uint32_t high_first = std::max(first, 0xd800u), high_last = std::min(last, 0xdbffu);
            std::uint32_t best = least(first, last);
            if (high_first <= high_last) best = std::min(best, least(0x10000 + ((high_first - 0xd800) << 10), 0x10000 + ((high_last - 0xd800) << 10) + 0x3ff));
            return best;
        }
        case LexMode::low_backslash:
        case LexMode::low_u:
        case LexMode::low_hex: {
            const CodePoint base = 0x10000 + ((k.value - 0xd800) << 10);
            if (k.mode != LexMode::low_hex) return least(base, base + 0x3ff);
            const std::uint32_t first = std::max(k.extra << (4 * k.depth), 0xdc00u), last = std::min((k.extra << (4 * k.depth)) | ((1u << (4 * k.depth)) - 1), 0xdfffu);
            return least(base + (first - 0xdc00), base + (last - 0xdc00));
        }
        default: return 0;
    }
}

}  // namespace scansion
