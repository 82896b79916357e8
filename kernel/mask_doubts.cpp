// Where one mask serves many states: the tokens a state must refuse that the shared mask allows, for keys and items already read.
#include <algorithm>

#include "masks.h"

namespace scansion {

bool Masks::is_set(const Memo& memo, std::uint32_t id) const {
    if (std::find(memo.cleared.begin(), memo.cleared.end(), id) != memo.cleared.end()) return false;
    if (memo.whole) return (*memo.whole)[id / 32] >> (id % 32) & 1;
    if (memo.base && (memo.base->bits[id / 32] >> (id % 32) & 1)) return true;
    return std::find(memo.set.begin(), memo.set.end(), id) != memo.set.end();
}

// Tokens of the subtree that are set in `scratch_` and that `state`, reached at its root, does not allow.
void Masks::look_again(std::uint32_t node, StateId state, std::vector<std::uint32_t>& refused) {
    const Trie& trie = vocabulary_.trie();
    const std::uint32_t first = trie.nodes[node].first_token;
    if (state == dead_state) {
        for (std::uint32_t i = first; i < trie.nodes[trie.nodes[node].end].first_token; ++i)
            if (std::uint32_t id = trie.tokens[i]; scratch_[id / 32] >> (id % 32) & 1) refused.push_back(id);
        return;
    }
    for (std::uint32_t c = node + 1; c < trie.nodes[node].end; c = trie.nodes[c].end) look_again(c, engine_.step(state, trie.nodes[c].byte), refused);
}

// Tokens that the folded state allows and that close a key taken in the state itself.
void Masks::doubtful(StateId state, const Memo& memo, Doubts& out) {
    const TextTrie& texts = engine_.texts();
    std::vector<Vocabulary::Closed> starts;
    for (auto [node, lex] : memo.key_starts) starts.push_back(vocabulary_.may_close(node, lexemes_[lex].key.mode));
    for (std::size_t i = 0; i < engine_.thread_count(state); ++i) {
        const Thread t = engine_.thread(state, i);
        if (t.is_token()) continue;
        if (t.text && t.text != foreign_text) {
            const std::uint32_t here = t.text - 1;
            const LexId lex = t.lex;
            const bool prefixes = lexemes_.remaining_language(lex) != Languages::anything;
            const auto may_close = vocabulary_.may_close(0, lexemes_[lex].key.mode);
            const std::size_t read = texts.depth(here);
            engine_.for_each_used(t.stack, [&](std::uint32_t key) {
                if (here != TextTrie::root && !texts.starts_with(key, here)) return;
                // In a key language with few words left a token may also die before it closes the key.
                const std::string text = texts.text(key);
                if (prefixes || may_close(std::string_view(text).substr(read))) collect_along(0, lex, text, read, prefixes, out);
            });
        }
        if (!memo.key_starts.empty())
            engine_.for_each_used_outside(t.stack, [&](std::uint32_t key) {
                const std::string text = texts.text(key);
                for (std::size_t i = 0; i < starts.size(); ++i)
                    if (starts[i](text)) collect_along(memo.key_starts[i].first, memo.key_starts[i].second, text, 0, false, out);
            });
        if (memo.questioned.empty() && !t.item) continue;
        doubtful_items(t, memo, out);
        for (std::size_t q = 0; q < memo.questioned.size();) {
            std::uint32_t key = memo.questioned[q].first;
            if (key > same_key) break;
            bool doubt = key == same_key || (key == few_keys && engine_.uses_keys(t.stack)) || (key < some_key && engine_.uses_key(t.stack, key)) || (key < some_key && t.text && t.text != foreign_text && texts.starts_with(key, t.text - 1));
            for (; q < memo.questioned.size() && memo.questioned[q].first == key; ++q)
                if (doubt) out.tokens.push_back(memo.questioned[q].second);
        }
    }
    for (auto* list : {&out.tokens, &out.closing}) sort_unique(*list);
}

// Tokens that may end an item whose value was read before.
void Masks::doubtful_items(const Thread& t, const Memo& memo, Doubts& out) {
    auto add = [&](std::uint32_t mark) {
        auto from = std::lower_bound(memo.questioned.begin(), memo.questioned.end(), std::pair{mark, 0u});
        for (; from != memo.questioned.end() && from->first == mark; ++from) out.tokens.push_back(from->second);
    };
    add(second_item_end);  // of items that both begin in the token nothing has been looked at
    if (!engine_.uses_values(t.stack)) return;
    bool all = t.item == 0;
    for (const Item& i : engine_.items(t.stack))  // between two items the next one is not open yet
        all |= i.kind() == Resume::array_next || i.kind() == Resume::array_open;
    const LexMode mode = lexemes_[t.lex].key.mode;
    const bool string = mode == LexMode::quote || (lexemes_[t.lex].key.json && mode != LexMode::end);
    const bool prefixes = lexemes_.remaining_language(t.lex) != Languages::anything;
    engine_.for_each_open_item(t.stack, t.item, [&](const std::string& so_far, FrameId frame) {
        engine_.array_frames().for_each_seen(frame, [&](std::uint32_t value) {
            if (all || !engine_.values().may_become(so_far, value, engine_.ordered())) return;
            const bool whole_item = so_far.empty() || so_far[0] == '"';
            if (!string || !whole_item || !engine_.values().is_string(value)) {
                // Another thread reads strings, unless this one's lexeme spells some itself.
                if (so_far.empty() && engine_.values().is_string(value) && !string && lexemes_.step(t.lex, '"') == dead_lex) return;
                all = true;
                return;
            }
            std::string inside = so_far.empty() ? std::string() : decode_json_string(std::string_view(so_far).substr(1));
            collect_along(0, t.lex, engine_.values().decoded(value).substr(inside.size()), 0, prefixes, out);
        });
    });
    if (all) add(item_part), add(item_end);
}

std::uint32_t Masks::add_item_mark(std::uint32_t keys, bool ended) {
    bool part = false, end = false, second = false;
    for (std::uint32_t k = keys; k != TextTrie::none; k = closed_[k].second) {
        part |= closed_[k].first == item_part;
        end |= closed_[k].first == item_end;
        second |= closed_[k].first == second_item_end;
    }
    const std::uint32_t mark = end ? second_item_end : ended ? item_end : item_part;
    const bool there = mark == item_part ? part : mark == second_item_end && second;
    return there ? keys : add_closed(keys, mark);
}

std::uint32_t Masks::close_key(std::uint32_t keys, std::uint32_t text) {
    for (std::uint32_t k = keys; k != TextTrie::none; k = closed_[k].second)
        if (closed_[k].first == text || closed_[k].first == some_key) keys = add_closed(keys, same_key);
    return add_closed(keys, text);
}

// Tokens that follow `text` from `at` on and then close the key.
void Masks::collect_along(std::uint32_t node, LexId lex, const std::string& text, std::size_t at, bool prefixes, Doubts& out) {
    const Trie& trie = vocabulary_.trie();
    auto visit = [&](std::uint32_t c) {
        std::uint8_t byte = trie.nodes[c].byte;
        LexId to = lexemes_.step(lex, byte);
        if (to == dead_lex) return;
        if (lexemes_.accepting(to)) {
            if (at == text.size()) out.closing.push_back(c);
            return;
        }
        std::uint8_t decoded[4];
        std::uint32_t n = lexemes_.decoded(lex, byte, decoded);
        if (at + n > text.size()) return;
        for (std::uint32_t i = 0; i < n; ++i)
            if (static_cast<std::uint8_t>(text[at + i]) != decoded[i]) return;
        if (prefixes)
            for (std::uint32_t i = 0; i < trie.nodes[c].token_count; ++i) out.tokens.push_back(trie.tokens[trie.nodes[c].first_token + i]);
        collect_along(c, to, text, at + n, prefixes, out);
    };
    const auto* children = vocabulary_.wide(node);
    auto visit_byte = [&](std::uint8_t b) {
        if (std::uint32_t c = (*children)[b]) visit(c);
    };
    if (children && lexemes_[lex].key.mode == LexMode::body) {  // only the raw byte, a backslash, or the closing quote can go on
        visit_byte('\\');
        visit_byte('"');
        if (at < text.size() && text[at] != '"' && text[at] != '\\') visit_byte(static_cast<std::uint8_t>(text[at]));
        return;
    }
    if (children) {
        const LexRow& row = lexemes_.row(lex);
        for (std::uint32_t b = 0; b < 256; ++b)
            if (row.live[b / 64] >> (b % 64) & 1) visit_byte(static_cast<std::uint8_t>(b));
        return;
    }
    for (std::uint32_t c = node + 1; c < trie.nodes[node].end; c = trie.nodes[c].end) visit(c);
}

}  // namespace scansion
