// Lexeme states that no token of a vocabulary tells apart: they share one slice, and the masks above it.
#include <algorithm>
#include <array>

#include "bits.h"
#include "json_values.h"
#include "vocabulary.h"

namespace scansion {

LexId Vocabulary::shared_state(LexId lex) {
    const LexKey& key = Lexemes::instance()[lex].key;
    if (key.lang == Languages::anything || (key.mode != LexMode::body && key.mode != LexMode::quote && key.mode != LexMode::text)) return lex;
    {
        std::lock_guard lock(mutex_);
        if (std::uint32_t known = shared_.find(lex); known != FlatMap::none) return known;
    }
    const LexId to = find_shared_state(Lexemes::instance().fold_lengths(lex, longest_));
    std::lock_guard lock(mutex_);
    shared_.insert(lex, to);
    if (to != lex && shared_.find(to) == FlatMap::none) shared_.insert(to, to);
    return to;
}

// Where `lex` may stand for by a state of a language without far bounds, and what of that one's slice is not its own. The argument: a token of `n`
// characters that has `far` to go at most lives in both languages if n + far <= within; longer ones are tried.
std::optional<Vocabulary::Difference> Vocabulary::compare(LexId lex, bool counting) {
    Lexemes& lexemes = Lexemes::instance();
    Languages& languages = Languages::instance();
    const LexKey& key = lexemes[lex].key;
    if (key.mode != LexMode::body || key.lang == Languages::anything) return std::nullopt;
    Difference out;
    std::uint32_t within = unbounded, far;
    bool any = false;
    std::optional<Languages::Counter> counter;
    {
        std::lock_guard lock(languages.mutex);
        LangId cls;
        std::uint32_t low, high;
        if (languages.is_class_repeat(key.lang, cls, low, high)) return std::nullopt;  // slices.cpp does those
        Languages::Folded folded = languages.fold_counts(key.lang, std::max(longest_, Languages::far_count));
        if (counting) counter = languages.counter(folded.to);
        folded = counter ? Languages::Folded{languages.set_counter(folded.to, counter->body, unbounded), folded.within, false} : languages.fold_counts(key.lang, Languages::far_count);
        const auto prefix = counter ? std::nullopt : languages.any_prefix(folded.to);
        if (!prefix && (folded.to == key.lang || folded.mixed)) return std::nullopt;
        any = prefix.has_value();
        far = prefix.value_or(0);
        within = folded.within;
        out.base = lexemes.in_language(lex, any ? Languages::anything : folded.to);
    }
    const auto made = counter ? rounds(out.base, counter->body) : nullptr;
    if (made && made->too_many) return compare(lex, false);
    if (!any) far = farthest(out.base);
    if (far == unbounded || within < far) return std::nullopt;
    const std::uint32_t safe = within - far;  // characters
    if (within != unbounded && safe < most_short_) return std::nullopt;
    const auto base = slice(0, out.base);
    // The state for texts of so many characters: bounds farther off would only give every character a state of its own.
    std::array<LexId, 3> near{};
    auto state_for = [&](std::size_t size) {
        const std::size_t k = size <= 32 ? 0 : size <= 64 ? 1 : 2;
        if (near[k] == dead_lex) near[k] = lexemes.fold_lengths(lex, k == 0 ? 32 : k == 1 ? 64 : longest_);
        return near[k];
    };
    // What a text has in common with the one before is walked once.
    std::vector<LexId> path;  // the states on the way through the last text, as far as it lived
    LexId start = dead_lex;
    std::string_view last;
    auto lives = [&](std::string_view text, LexId from) {
        std::size_t done = 0;
        if (from == start) done = std::min<std::size_t>(path.size(), static_cast<std::size_t>(std::mismatch(text.begin(), text.end(), last.begin(), last.end()).first - text.begin()));
        path.resize(done);
        start = from;
        last = text;
        LexId at = done ? path.back() : from;
        while (at != dead_lex && path.size() < text.size()) path.push_back(at = lexemes.step(at, static_cast<std::uint8_t>(text[path.size()])));
        return at != dead_lex;
    };
    if (within != unbounded) {
        for (const Spelled& token : long_tokens_) {
            if (token.characters <= safe) continue;
            const bool stays = base->bits.empty() ? std::find(base->stay.begin(), base->stay.end(), token.id) != base->stay.end() : base->bits[token.id / 32] >> (token.id % 32) & 1;
            if (stays && !lives(text_of(token), state_for(token.characters))) out.tokens.push_back(token.id);
        }
    }
    if (any) {
        for (const Spelled& end : string_ends_)
            if (!lives(text_of(end), state_for(end.bytes))) out.ends.push_back(end.id);
        return out;
    }
    auto try_end = [&](const Slice::End& e) {
        const std::string_view text = *tokens_[trie_.tokens[trie_.nodes[e.node].first_token]];
        if (!lives(text.substr(0, e.depth), state_for(e.depth))) out.ends.push_back(e.node);
    };
    for (const Slice::End& e : *base->ends)
        if (e.depth > safe) try_end(e);
    if (!made) return out;
    // What goes round no more often than the counter still may goes on in both languages alike.
    for (auto it = made->tokens.begin(); it != made->tokens.end() && it->first > counter->high; ++it)
        if (const std::string& text = *tokens_[it->second]; !lives(text, state_for(text.size()))) out.tokens.push_back(it->second);
    for (auto it = made->ends.begin(); it != made->ends.end() && it->first > counter->high; ++it) try_end((*base->ends)[it->second]);
    sort_unique(out.ends);
    return out;
}

LexId Vocabulary::find_shared_state(LexId lex) {
    std::optional<Difference> found;
    try {
        found = compare(lex);
    } catch (const LimitExceeded&) {  // of the looking around; the state itself may do
    }
    if (!found) return lex;
    if (found->tokens.empty() && found->ends.empty()) return found->base;
    std::uint64_t hash = found->base;
    for (std::uint32_t id : found->tokens) hash = combine(hash, id);
    for (std::uint32_t node : found->ends) hash = combine(hash, node);
    std::lock_guard lock(mutex_);
    const std::uint32_t same = difference_table_.find(hash, [&](std::uint32_t i) { return differences_[i].second == *found; });
    if (same != IndexTable::none) return differences_[same].first;
    if (difference_bytes_ > difference_budget) {
        differences_.clear();
        difference_table_.clear();
        difference_of_ = FlatMap();
        difference_bytes_ = 0;
    }
    difference_bytes_ += (found->tokens.size() + found->ends.size()) * 4 + sizeof(Difference);
    difference_of_.insert(lex, static_cast<std::uint32_t>(differences_.size()));
    difference_table_.insert(hash, static_cast<std::uint32_t>(differences_.size()));
    differences_.emplace_back(lex, std::move(*found));
    return lex;
}

std::optional<Vocabulary::Difference> Vocabulary::known_difference(LexId lex) {
    std::lock_guard lock(mutex_);
    const std::uint32_t known = difference_of_.find(lex);
    return known == FlatMap::none ? std::nullopt : std::optional(differences_[known].second);
}

// Characters at most that a string still needs after any token; `unbounded` where that is not known.
std::uint32_t Vocabulary::farthest(LexId lex) {
    {
        std::lock_guard lock(mutex_);
        if (std::uint32_t known = farthest_.find(lex); known != FlatMap::none) return known == unbounded - 1 ? unbounded : known;
    }
    std::uint32_t far = 0;
    auto built = build_slice(0, lex, no_measure, {.far = &far});
    keep(lex, std::move(built));
    std::lock_guard lock(mutex_);
    farthest_.insert(lex, std::min(far, unbounded - 1));
    return far;
}

// By the state as it is with the counter far from its bound; `base` is without one. In a chain of derivatives every bound of the counter falls alike, so
// with fewer rounds to go the state after a text is the same but for the bound, as long as that has not fallen below nothing anywhere on the way: where a
// counter stands twice, the text may have left the first behind.
std::shared_ptr<const Rounds> Vocabulary::rounds(LexId base, LangId body) {
    const std::pair key{base, body};
    {
        std::lock_guard lock(mutex_);
        if (auto known = rounds_.find(key); known != rounds_.end()) return known->second;
    }
    Lexemes& lexemes = Lexemes::instance();
    Languages& languages = Languages::instance();
    auto found = std::make_shared<Rounds>();
    found->body = body;
    found->from = longest_ + 2;
    LexId counting;
    {
        std::lock_guard lock(languages.mutex);
        counting = lexemes.in_language(base, languages.set_counter(lexemes.remaining_language(base), body, found->from));
    }
    std::uint32_t far = 0;
    auto built = build_slice(0, counting, no_measure, {&far, found.get()});
    keep(base, std::move(built));
    std::lock_guard lock(mutex_);
    if (farthest_.find(base) == FlatMap::none) farthest_.insert(base, std::min(far, unbounded - 1));
    if (rounds_.size() == rounds_limit) rounds_.clear();
    return rounds_.emplace(key, std::move(found)).first->second;
}

// The slice of a state by what it lacks of another's.
std::unique_ptr<Slice> Vocabulary::lacking(const Slice& base, Difference difference) {
    auto out = std::make_unique<Slice>();
    out->bits = base.bits;
    auto drop = [&](std::uint32_t id) {
        if (!out->bits.empty()) out->bits[id / 32] &= ~(1u << (id % 32));
    };
    std::vector<std::uint32_t>& gone = difference.tokens;
    for (std::uint32_t node : difference.ends)
        for (std::uint32_t i = 0; i < trie_.nodes[node].token_count; ++i) gone.push_back(trie_.tokens[trie_.nodes[node].first_token + i]);
    std::for_each(gone.begin(), gone.end(), drop);
    if (base.bits.empty()) {
        std::sort(gone.begin(), gone.end());
        for (std::uint32_t id : base.stay)
            if (!std::binary_search(gone.begin(), gone.end(), id)) out->stay.push_back(id);
    }
    if (difference.ends.empty()) {
        out->ends = base.ends;
        out->exits = base.exits;
        out->digit_exits = base.digit_exits;
        out->remainders = base.remainders;
        return out;
    }
    Slice::Ends ends;
    std::vector<std::uint32_t> exits;
    ends.reserve(base.ends->size());
    exits.reserve(base.ends->size());
    auto next = difference.ends.begin();  // both ascend
    for (const Slice::End& e : *base.ends) {
        while (next != difference.ends.end() && *next < e.node) ++next;
        if (next != difference.ends.end() && *next == e.node) continue;
        ends.push_back(e);
        exits.push_back(e.node);
    }
    out->ends = std::make_shared<const Slice::Ends>(std::move(ends));
    keep_exits(*out, exits);
    return out;
}

Vocabulary::Closed Vocabulary::may_close(std::uint32_t node, LexMode mode) {
    if (mode != LexMode::quote && mode != LexMode::body) return Closed(nullptr);
    const bool inside = mode == LexMode::body;
    const std::uint64_t key = std::uint64_t{node} << 1 | inside;
    {
        std::lock_guard lock(mutex_);
        if (std::uint32_t known = closed_of_.find(key); known != FlatMap::none) return Closed(&closed_[known]);
    }
    Lexemes& lexemes = Lexemes::instance();
    LexId lex = lexemes.start(Languages::anything, Encoding::json_string);
    if (inside) lex = lexemes.step(lex, '"');
    const std::shared_ptr<const Slice> strings = slice(node, lex);
    const std::size_t from = depth(node) + !inside;
    Closed::Texts found;
    for (const Slice::End& e : *strings->ends) {
        // Any token below the node spells the way to it; the quotes are no part of the text.
        const std::string_view token = *tokens_[trie_.tokens[trie_.nodes[e.node].first_token]];
        std::string text = decode_json_string(token.substr(from, e.depth - 1 - !inside));
        found.longest = std::max(found.longest, text.size());
        found.texts.insert(std::move(text));
    }
    std::lock_guard lock(mutex_);
    if (std::uint32_t known = closed_of_.find(key); known != FlatMap::none) return Closed(&closed_[known]);
    const Closed::Texts& kept = closed_.emplace_back(std::move(found));
    closed_of_.insert(key, static_cast<std::uint32_t>(closed_.size() - 1));
    return Closed(&kept);
}

std::shared_ptr<const Slice> Vocabulary::joined(const Slice& one, const Slice& other) {
    const std::pair key{one.serial, other.serial};
    {
        std::lock_guard lock(mutex_);
        if (auto known = joined_.find(key); known != joined_.end()) return known->second;
    }
    auto both = std::make_shared<Slice>();
    both->bits = one.bits;
    join_bits(both->bits.data(), other.bits.data(), both->bits.size());
    std::lock_guard lock(mutex_);
    if (joined_.size() * words() * 4 > whole_budget) joined_.clear();
    return joined_.emplace(key, std::move(both)).first->second;
}

Vocabulary::Bits Vocabulary::whole(const std::uint32_t* bits) {
    const std::uint64_t hash = hash_of_bits(bits, words());
    std::lock_guard lock(mutex_);
    const std::uint32_t same = whole_table_.find(hash, [&](std::uint32_t i) { return std::equal(bits, bits + words(), wholes_[i]->begin()); });
    if (same != IndexTable::none) return wholes_[same];
    if (wholes_.size() * words() * 4 > whole_budget) {
        wholes_.clear();
        whole_table_.clear();
    }
    whole_table_.insert(hash, static_cast<std::uint32_t>(wholes_.size()));
    wholes_.push_back(std::make_shared<const std::vector<std::uint32_t>>(bits, bits + words()));
    return wholes_.back();
}

}  // namespace scansion
