// Tries walked with the threads of a state: what no slice answers.
#include <algorithm>
#include <array>
#include <bit>

#include "masks.h"

namespace scansion {

bool Masks::push_state(StateId state) {
    for (std::size_t i = 0, n = engine_.thread_count(state); i < n; ++i)
        if (const Thread& t = engine_.thread(state, i); !t.is_token()) threads_.push_back(t);
    return state != dead_state;
}

// Threads from `begin` on begin here. Where they have few words, those may all have been read before.
std::uint32_t Masks::mark_begun(std::size_t begin, std::uint32_t keys) {
    bool item = false, key = false;
    for (std::size_t i = begin; i < threads_.size(); ++i) {
        const Thread& t = threads_[i];
        item |= t.item && !engine_.many_endings(t.lex);
        key |= t.text && t.text != foreign_text && engine_.reads_additional_key(t.stack) && has_few_words(t.lex);
    }
    if (item) keys = add_item_mark(keys, false);
    return key ? add_closed(keys, few_keys) : keys;
}

// Inside a comma that is not whole yet: what must come after it may all have been read before.
std::uint32_t Masks::mark_comma(const Thread& t, std::uint32_t keys) {
    const Engine::Scarce scarce = engine_.scarce_after_comma(t.stack, vocabulary_.longest_token());
    if (scarce.items) keys = add_item_mark(keys, false);
    return scarce.keys ? add_closed(keys, few_keys) : keys;
}

// `lex`: where `byte` leads the thread's lexeme.
bool Masks::step_thread(const Thread& t, LexId lex, std::uint8_t byte, std::uint32_t& keys) {
    std::uint32_t text = t.text;
    if (text && text != foreign_text) {
        std::uint8_t decoded[4];
        std::uint32_t n = lexemes_.decoded(t.lex, byte, decoded);
        for (std::uint32_t k = 0; k < n; ++k) text = engine_.keep_text(text - 1, decoded[k]) + 1;
    }
    const std::uint32_t item = t.item ? engine_.extend_item(t.item, t.lex, byte) : 0;
    bool alive = false;
    if (lexemes_.accepting(lex)) {
        std::uint32_t key = lexemes_[lex].accepted_key;
        const std::size_t before = threads_.size();
        engine_.item_ended = false;
        if (key == no_key && !text) {
            alive = push_state(engine_.after(t.stack, item));
        } else if (!text) {
            alive = push_state(engine_.after_key(t.stack, key, 0, item));
        } else if (text == foreign_text) {
            alive = push_state(engine_.after_unknown_key(t.stack, item));
        } else {
            keys = close_key(keys, text - 1);
            alive = push_state(engine_.after_new_key(t.stack, text, item));
        }
        // In an item of a unique array whatever ends may leave only endings that were read before; so may what begins.
        if (item || engine_.item_ended) keys = add_item_mark(keys, engine_.item_ended);
        keys = mark_begun(before, keys);
    }
    // A number may be a zero, whose exponent gives it no new value.
    const bool exponent = (byte | 0x20) == 'e' && lexemes_[lex].key.mode == LexMode::text;
    if (item && (exponent || !engine_.many_endings(lex))) keys = add_item_mark(keys, false);
    if (lexemes_.goes_on(lex)) {
        if (text && text != foreign_text && lexemes_.remaining_language(lex) != Languages::anything) {
            endings_.clear();
            engine_.few_endings(lex, text - 1, endings_);
            for (std::uint32_t e : endings_) keys = add_closed(keys, e);
            if (!endings_.empty() && !engine_.tracked_live(lex, text - 1, t.stack)) return alive;
        }
        if (!lexemes_.accepting(lex) && lexemes_[lex].key.mode == LexMode::text) keys = mark_comma(t, keys);
        threads_.push_back({lex, text, t.stack, item});
        alive = true;
    }
    return alive;
}

void Masks::tidy(std::size_t begin) {
    std::size_t n = threads_.size() - begin;
    if (n < 2) return;
    auto first = threads_.begin() + static_cast<std::ptrdiff_t>(begin);
    if (n <= 8) {
        std::size_t out = 1;
        for (std::size_t i = 1; i < n; ++i) {
            bool seen = false;
            for (std::size_t j = 0; j < out && !seen; ++j) seen = first[static_cast<std::ptrdiff_t>(j)] == first[static_cast<std::ptrdiff_t>(i)];
            if (!seen) first[static_cast<std::ptrdiff_t>(out++)] = first[static_cast<std::ptrdiff_t>(i)];
        }
        threads_.resize(begin + out);
        return;
    }
    std::sort(first, threads_.end());
    threads_.erase(std::unique(first, threads_.end()), threads_.end());
}

// One child of a node: the threads that follow its byte are pushed, looked below, and dropped.
void Masks::child(const Trie& trie, std::uint32_t node, std::size_t begin, std::span<const LexRow* const> rows, std::uint32_t keys) {
    const TrieNode& n = trie.nodes[node];
    const std::size_t mark = threads_.size();
    bool alive = false;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const LexId lex = rows[i]->step(n.byte);
        if (lex == dead_lex) continue;
        const Thread t = threads_[begin + i];
        alive |= step_thread(t, lex, n.byte, keys);
    }
    if (alive) below(trie, node, mark, keys);
    threads_.resize(mark);
}

// A node that the threads from `mark` on have come to, and what is below it.
void Masks::below(const Trie& trie, std::uint32_t node, std::size_t mark, std::uint32_t keys) {
    const TrieNode& n = trie.nodes[node];
    // A lexeme may end here and nothing follow it but the end of the text: the token is allowed all the same.
    set_tokens(trie, n, keys);
    if (n.end == node + 1 || threads_.size() == mark) return;
    tidy(mark);
    const std::size_t stop = threads_.size();
    if (stop - mark > walk_width) {
        std::vector<Thread> many(threads_.begin() + static_cast<std::ptrdiff_t>(mark), threads_.end());
        walk_states(trie, node, engine_.intern_threads(many, false), keys);
    } else if (n.end - node > Vocabulary::slice_nodes && &trie == &vocabulary_.trie()) {
        add_threads(node, mark, stop, keys);
    } else {
        walk(trie, node, mark, stop, keys);
    }
}

namespace {
// `wide`: the node's children by byte, where it has many: then the bytes that the grammar allows (`live`) lead the walk, not those the trie has.
// Of another node, children that the grammar does not allow are not touched.
template <class Visit>
void for_each_child(const Trie& trie, const std::array<std::uint32_t, 256>* wide, std::uint32_t node, const std::uint64_t live[4], Visit visit) {
    if (!wide) {
        const auto [bytes, nodes] = trie.children(node);
        for (std::size_t i = 0; i < bytes.size(); ++i)
            if (live[bytes[i] / 64] >> (bytes[i] % 64) & 1) visit(nodes[i]);
        return;
    }
    for (std::uint32_t w = 0; w < 4; ++w)
        for (std::uint64_t bits = live[w]; bits; bits &= bits - 1)
            if (std::uint32_t c = (*wide)[w * 64 + static_cast<std::uint32_t>(std::countr_zero(bits))]) visit(c);
}
}  // namespace

// Keys that are spelled in one way alone are looked up in the trie, not stepped through it.
void Masks::walk_keys(const Trie& trie, std::uint32_t node, KeyCursor at, StackId stack, std::uint32_t keys) {
    const auto* wide = &trie == &vocabulary_.trie() ? vocabulary_.wide(node) : nullptr;
    while (at.count > 0) {
        const std::uint8_t byte = lexemes_.key_byte(at.keys[0], at.depth);
        const KeyCursor to{at.keys, lexemes_.same_byte(at), at.depth + 1};
        at = {at.keys + to.count, at.count - to.count, at.depth};
        const std::uint32_t c = wide ? (*wide)[byte] : trie.child(node, byte);
        if (c == 0) continue;
        if (to.count == 1 && to.depth == lexemes_.key_spelling(to.keys[0]).size()) {
            const std::size_t mark = threads_.size();
            if (push_state(engine_.after_key(stack, to.keys[0], 0))) below(trie, c, mark, mark_begun(mark, keys));
            threads_.resize(mark);
        } else {
            set_tokens(trie, trie.nodes[c], keys);
            if (trie.nodes[c].end != c + 1) walk_keys(trie, c, to, stack, keys);
        }
    }
}

// The same of words. `inside`: as `keys`, for tokens that end inside a word.
void Masks::walk_words(const Trie& trie, std::uint32_t node, const Automaton& words, std::uint32_t at, StackId stack, std::uint32_t keys, std::uint32_t inside) {
    const auto* wide = &trie == &vocabulary_.trie() ? vocabulary_.wide(node) : nullptr;
    for (const AutomatonEdge& edge : words.edges[at]) {
        std::uint8_t bytes[4];
        const std::uint32_t n = encode_utf8(edge.first, bytes);
        std::uint32_t c = wide ? (*wide)[bytes[0]] : trie.child(node, bytes[0]);
        for (std::uint32_t i = 1; i < n && c; ++i) {
            set_tokens(trie, trie.nodes[c], keys);
            c = trie.child(c, bytes[i]);
        }
        if (c == 0) continue;
        if (words.accepting[edge.target]) {
            const std::size_t mark = threads_.size();
            engine_.item_ended = false;
            if (push_state(engine_.after(stack))) below(trie, c, mark, mark_begun(mark, engine_.item_ended ? add_item_mark(keys, true) : keys));
            threads_.resize(mark);
        } else {
            set_tokens(trie, trie.nodes[c], inside);
            if (trie.nodes[c].end != c + 1) walk_words(trie, c, words, edge.target, stack, inside, inside);
        }
    }
}

// The most of all walks: one thread whose text nobody tells, without a list of threads while its lexeme goes on.
void Masks::walk_plain(const Trie& trie, std::uint32_t node, Thread t, std::uint32_t keys) {
    const bool own = &trie == &vocabulary_.trie();
    const LexRow& row = lexemes_.row(t.lex);
    auto visit = [&](std::uint32_t c) {
        const TrieNode& n = trie.nodes[c];
        const LexId to = row.step(n.byte);
        if (to == dead_lex) return;
        if (lexemes_.accepting(to) || (own && n.end - c > Vocabulary::slice_nodes)) {
            const LexRow* rows[] = {&row};
            threads_.push_back(t);
            child(trie, c, threads_.size() - 1, rows, keys);
            threads_.pop_back();
            return;
        }
        const std::uint32_t with = lexemes_[to].key.mode == LexMode::text ? mark_comma(t, keys) : keys;
        set_tokens(trie, n, with);
        if (n.end != c + 1) walk_plain(trie, c, {to, 0, t.stack, 0}, with);
    };
    for_each_child(trie, own ? vocabulary_.wide(node) : nullptr, node, row.live, visit);
}

void Masks::walk(const Trie& trie, std::uint32_t node, std::size_t begin, std::size_t end, std::uint32_t keys) {
    for (std::size_t i = begin; i < end; ++i) {
        const Thread t = threads_[i];
        const Automaton* words = lexemes_[t.lex].words;
        if (t.text || t.item || !(words || lexemes_.in_keys(t.lex))) continue;
        std::swap(threads_[begin++], threads_[i]);
        if (words)
            walk_words(trie, node, *words, lexemes_[t.lex].word, t.stack, keys, mark_comma(t, keys));
        else
            walk_keys(trie, node, lexemes_.cursor(t.lex), t.stack, keys);
    }
    if (begin == end) return;
    if (end == begin + 1 && !threads_[begin].text && !threads_[begin].item) return walk_plain(trie, node, threads_[begin], keys);
    const bool own = &trie == &vocabulary_.trie();
    std::uint64_t live[4] = {0, 0, 0, 0};
    std::array<const LexRow*, walk_width> few;
    std::vector<const LexRow*> many;
    if (end - begin > walk_width) many.resize(end - begin);
    const std::span<const LexRow*> rows{many.empty() ? few.data() : many.data(), end - begin};
    for (std::size_t i = begin; i < end; ++i) {
        rows[i - begin] = &lexemes_.row(threads_[i].lex);
        for (int w = 0; w < 4; ++w) live[w] |= rows[i - begin]->live[w];
    }
    for_each_child(trie, own ? vocabulary_.wide(node) : nullptr, node, live, [&](std::uint32_t c) { child(trie, c, begin, rows, keys); });
}

// ---- walking over interned states ------------------------------------------------------------------------------

void Masks::walk_states(const Trie& trie, std::uint32_t node, StateId state, std::uint32_t keys) {
    const std::uint32_t stop = trie.nodes[node].end;
    for (std::uint32_t c = node + 1; c < stop; c = trie.nodes[c].end) {
        StateId to = engine_.step(state, trie.nodes[c].byte);
        if (to == dead_state) continue;
        set_tokens(trie, trie.nodes[c], keys);
        if (trie.nodes[c].end != c + 1) walk_states(trie, c, to, keys);
    }
}

}  // namespace scansion
