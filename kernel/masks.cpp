#include "masks.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace scansion {

// ---- memo ------------------------------------------------------------------------------------------------------

void Masks::fill_finished(std::uint32_t* out) const {
    std::memset(out, 0, vocabulary_.words() * 4);
    for (std::uint32_t id : vocabulary_.eos()) out[id / 32] |= 1u << (id % 32);
}

void Masks::fill(StateId state, std::uint32_t* out) { write(memos_[memo_for(state)], out); }

void Masks::note(StateId state, std::uint32_t memo) {
    if (memo_of_state_.size() <= state) memo_of_state_.resize(std::max<std::size_t>(engine_.state_count() * 3 / 2, state + 1u), 0);
    memo_of_state_[state] = memo + 1;
}

std::uint32_t Masks::store(StateId state, Memo memo) {
    memo_bytes_ += memo.bytes();
    memos_.push_back(std::move(memo));
    note(state, static_cast<std::uint32_t>(memos_.size() - 1));
    return static_cast<std::uint32_t>(memos_.size() - 1);
}

std::uint32_t Masks::memo_for(StateId state) {
    if (state < memo_of_state_.size() && memo_of_state_[state]) return memo_of_state_[state] - 1;
    if (memo_bytes_ > memo_budget) {
        memos_.clear();
        std::fill(memo_of_state_.begin(), memo_of_state_.end(), 0);
        memo_bytes_ = 0;
    }
    const StateId folded = engine_.fold(state, vocabulary_.longest_token());
    std::uint32_t shared;
    if (folded < memo_of_state_.size() && memo_of_state_[folded]) {
        shared = memo_of_state_[folded] - 1;
    } else {
        Memo memo;
        compute(folded, memo);
        shared = store(folded, std::move(memo));
    }
    const auto& questioned = memos_[shared].questioned;
    auto same = std::lower_bound(questioned.begin(), questioned.end(), std::pair{same_key, 0u});
    const bool twice = same != questioned.end() && same->first == same_key;
    if (folded == state && !twice) return shared;
    Doubts doubts;
    doubtful(state, memos_[shared], doubts);
    std::vector<std::uint32_t> refused;  // of the tokens that close a taken key, those no other reading allows
    for (std::uint32_t id : doubts.tokens)
        if (is_set(memos_[shared], id) && engine_.step(state, *vocabulary_.text(id)) == dead_state && engine_.step_token(state, id) == dead_state)
            refused.push_back(id);
    if (!doubts.closing.empty()) {
        const Trie& trie = vocabulary_.trie();
        scratch_.resize(vocabulary_.words());
        write(memos_[shared], scratch_.data());
        for (std::uint32_t node : doubts.closing) {
            const std::uint32_t first = trie.nodes[node].first_token, last = trie.nodes[trie.nodes[node].end].first_token;
            if (std::none_of(trie.tokens.begin() + first, trie.tokens.begin() + last, [&](std::uint32_t id) { return scratch_[id / 32] >> (id % 32) & 1; })) continue;
            // Any token below the node spells the way to it.
            std::string_view text = *vocabulary_.text(trie.tokens[first]);
            look_again(node, engine_.step(state, text.substr(0, vocabulary_.depth(node))), refused);
        }
        if (!refused.empty() && engine_.has_token_edges(state)) std::erase_if(refused, [&](std::uint32_t id) { return engine_.step_token(state, id) != dead_state; });
    }
    if (refused.empty()) {
        note(state, shared);
        return shared;
    }
    if (folded == state) {  // tokens that hold one key twice; nothing else can be doubtful here
        Memo& memo = memos_[shared];
        memo.cleared.insert(memo.cleared.end(), refused.begin(), refused.end());
        std::erase_if(memo.questioned, [](const auto& q) { return q.first == same_key; });
        return shared;
    }
    Memo own = memos_[shared];
    own.questioned.clear();
    own.cleared.insert(own.cleared.end(), refused.begin(), refused.end());
    return store(state, std::move(own));
}

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
    for (std::size_t i = 0; i < engine_.thread_count(state); ++i) {
        const Thread t = engine_.thread(state, i);
        if (t.text && t.text != foreign_text) {
            const std::uint32_t here = t.text - 1;
            const LexId lex = t.lex;
            const bool prefixes = lexemes_.remaining_language(lex) != Languages::anything;
            std::vector<std::uint32_t> taken;
            engine_.for_each_taken(t.stack, [&](std::uint32_t key) {
                if (here == TextTrie::root || texts.starts_with(key, here)) taken.push_back(key);
            });
            for (std::uint32_t key : taken) {
                // In a key language with few words left a token may also die before it closes the key.
                if (here == TextTrie::root && !prefixes) {
                    const auto& nodes = closing_nodes(lex, key);
                    out.closing.insert(out.closing.end(), nodes.begin(), nodes.end());
                } else {
                    std::string rest = texts.text(key).substr(texts.text(here).size());
                    collect_along(0, lex, rest, 0, prefixes, out);
                }
            }
        }
        if (memo.questioned.empty() && !t.item) continue;
        doubtful_items(t, memo, out);
        for (std::size_t q = 0; q < memo.questioned.size();) {
            std::uint32_t key = memo.questioned[q].first;
            if (key > same_key) break;
            bool doubt = key == same_key || engine_.uses_key(t.stack, key) || (t.text && t.text != foreign_text && texts.starts_with(key, t.text - 1));
            for (; q < memo.questioned.size() && memo.questioned[q].first == key; ++q)
                if (doubt) out.tokens.push_back(memo.questioned[q].second);
        }
    }
    for (auto* list : {&out.tokens, &out.closing}) {
        std::sort(list->begin(), list->end());
        list->erase(std::unique(list->begin(), list->end()), list->end());
    }
}

// Tokens that may end an item whose value was read before.
void Masks::doubtful_items(const Thread& t, const Memo& memo, Doubts& out) {
    auto add = [&](std::uint32_t mark) {
        auto from = std::lower_bound(memo.questioned.begin(), memo.questioned.end(), std::pair{mark, 0u});
        for (; from != memo.questioned.end() && from->first == mark; ++from) out.tokens.push_back(from->second);
    };
    if (t.item > TextTrie::root + 1) add(second_item_end);
    if (!engine_.uses_values(t.stack)) return;
    bool all = t.item == 0;
    const LexMode mode = lexemes_[t.lex].key.mode;
    const bool string = mode == LexMode::quote || (lexemes_[t.lex].key.json && mode != LexMode::end);
    const bool prefixes = lexemes_.remaining_language(t.lex) != Languages::anything;
    engine_.for_each_open_item(t.stack, t.item, [&](const std::string& so_far, FrameId frame) {
        engine_.array_frames().for_each_seen(frame, [&](std::uint32_t value) {
            if (all || !engine_.values().may_become(so_far, value, engine_.ordered())) return;
            const bool whole_item = so_far.empty() || so_far[0] == '"';
            if (!string || !whole_item || !engine_.values().is_string(value)) {
                if (so_far.empty() && engine_.values().is_string(value) && !string) return;  // another thread reads strings
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
    const std::uint32_t mark = !ended ? item_part : end ? second_item_end : item_end;
    const bool there = mark == item_part ? part : mark == second_item_end && second;
    return there ? keys : add_closed(keys, mark);
}

// Nodes of the vocabulary's trie where a key `text` that begins in `lex` is closed.
const std::vector<std::uint32_t>& Masks::closing_nodes(LexId lex, std::uint32_t text) {
    auto [it, fresh] = closing_.try_emplace(std::uint64_t{lex} << 32 | text);
    if (fresh) {
        Doubts found;
        collect_along(0, lex, engine_.texts().text(text), 0, false, found);
        it->second = std::move(found.closing);
    }
    return it->second;
}

std::uint32_t Masks::close_key(std::uint32_t keys, std::uint32_t text) {
    for (std::uint32_t k = keys; k != TextTrie::none; k = closed_[k].second)
        if (closed_[k].first == text) keys = add_closed(keys, same_key);
    return add_closed(keys, text);
}

void Masks::write(const Memo& memo, std::uint32_t* out) const {
    const std::size_t bytes = vocabulary_.words() * 4;
    if (memo.whole)
        std::memcpy(out, memo.whole->data(), bytes);
    else if (memo.base)
        std::memcpy(out, memo.base->bits.data(), bytes);
    else
        std::memset(out, 0, bytes);
    for (std::uint32_t id : memo.set) out[id / 32] |= 1u << (id % 32);
    for (std::uint32_t id : memo.cleared) out[id / 32] &= ~(1u << (id % 32));
}

void Masks::compute(StateId state, Memo& memo) {
    scratch_.assign(vocabulary_.words(), 0);
    added_.clear();
    questioned_.clear();
    closed_.clear();
    threads_.clear();
    base_.reset();
    whole_ = cleared_ = false;
    push_state(state);
    add_threads(0, 0, threads_.size(), TextTrie::none);
    if (engine_.accepting(state))
        for (std::uint32_t id : vocabulary_.eos()) set(id);
    if (engine_.has_token_edges(state)) {
        for (std::size_t i = 0; i < engine_.thread_count(state); ++i) {
            const Thread t = engine_.thread(state, i);
            if (!t.is_token()) continue;
            for (auto [low, high] : engine_.program().token_sets[t.token_set()])
                for (std::uint64_t id = low; id <= high && id < vocabulary_.size(); ++id) set(static_cast<std::uint32_t>(id));
        }
    }
    std::sort(questioned_.begin(), questioned_.end());
    memo.questioned = questioned_;
    if (whole_ || added_.size() > list_limit) {
        memo.whole = std::make_shared<const std::vector<std::uint32_t>>(scratch_);
        return;
    }
    memo.base = base_;
    for (std::uint32_t id : added_)
        if (scratch_[id / 32] >> (id % 32) & 1) memo.set.push_back(id);
    if (base_ && cleared_)
        for (std::size_t w = 0; w < scratch_.size(); ++w)
            for (std::uint32_t gone = base_->bits[w] & ~scratch_[w]; gone; gone &= gone - 1)
                memo.cleared.push_back(static_cast<std::uint32_t>(w * 32) + static_cast<std::uint32_t>(std::countr_zero(gone)));
    memo.set.shrink_to_fit();
}

// ---- walking over threads --------------------------------------------------------------------------------------

bool Masks::sliceable(const Thread& t) {
    if (!lexemes_.dense(t.lex) || (t.item && (lexemes_[t.lex].key.mode == LexMode::text || !engine_.many_endings(t.lex)))) return false;
    if (t.text) {
        // A key of few words that begins in this token is walked, so that tokens which leave it no way on are noticed.
        if (t.text != foreign_text && !engine_.endless_key(t.lex)) return false;
        for (const Item& item : engine_.items(t.stack))
            if (item.kind() != Resume::object_group) return false;
    }
    return true;
}

// Tokens below `node` of the vocabulary's trie, for threads_[begin, end): dense ones by their slices, the rest walked together.
void Masks::add_threads(std::uint32_t node, std::size_t begin, std::size_t end, std::uint32_t keys) {
    std::size_t sparse = begin;
    for (std::size_t i = begin; i < end; ++i) {
        if (!sliceable(threads_[i])) {
            std::swap(threads_[sparse], threads_[i]);
            ++sparse;
        }
    }
    for (std::size_t i = sparse; i < end; ++i) {
        const Thread t = threads_[i];
        add_dense(node, t, keys);
    }
    if (sparse > begin) walk(vocabulary_.trie(), node, begin, sparse, keys);
}

void Masks::add_dense(std::uint32_t node, const Thread& t, std::uint32_t keys) {
    auto slice = vocabulary_.slice(node, t.text ? t.lex : lexemes_.fold_lengths(t.lex, vocabulary_.longest_token()));
    if ((t.text && t.text != foreign_text) || (node != 0 && t.item && t.item != foreign_text)) {
        add_new_text(node, t, *slice, keys);
        return;
    }
    if (!slice->bits.empty()) {
        if (!base_ && node == 0)
            base_ = slice;
        else
            whole_ = true;
        for (std::size_t w = 0; w < scratch_.size(); ++w) scratch_[w] |= slice->bits[w];
    }
    for (std::uint32_t id : slice->stay) set(id, keys);
    if (slice->remainders.size() > 1 || !slice->exits.empty() || (t.item && !slice->ends.empty())) {
        const std::uint32_t item = t.item ? foreign_text : 0;
        engine_.item_ended = false;
        StateId after = t.text ? engine_.after_unknown_key(t.stack, item) : engine_.after(t.stack, item);
        if (t.item) {
            keys = add_item_mark(keys, engine_.item_ended);
            for (const Slice::End& e : slice->ends) set_tokens(vocabulary_.trie(), vocabulary_.trie().nodes[e.node], keys);
        }
        if (after != dead_state) {
            std::size_t begin = threads_.size();
            push_state(after);
            std::size_t end = threads_.size();
            walk(slice->remainders, 0, begin, end, keys);
            for (std::uint32_t exit : slice->exits) walk(vocabulary_.trie(), exit, begin, end, keys);
            threads_.resize(begin);
        }
    }
}

// A key or an item that began inside the token: where the token also ends it, its whole text is known and judged.
void Masks::add_new_text(std::uint32_t node, const Thread& t, const Slice& slice, std::uint32_t keys) {
    const Trie& trie = vocabulary_.trie();
    std::vector<std::uint32_t> fresh;  // closing tokens that no other thread has allowed
    for (const Slice::End& e : slice.ends)
        for (std::uint32_t i = 0; i < trie.nodes[e.node].token_count; ++i)
            if (std::uint32_t id = trie.tokens[trie.nodes[e.node].first_token + i]; !(scratch_[id / 32] >> (id % 32) & 1)) fresh.push_back(id);
    if (!slice.bits.empty()) {
        whole_ = true;
        for (std::size_t w = 0; w < scratch_.size(); ++w) scratch_[w] |= slice.bits[w];
    }
    for (std::uint32_t id : slice.stay) set(id);
    for (std::uint32_t id : fresh) scratch_[id / 32] &= ~(1u << (id % 32));
    cleared_ |= !fresh.empty();
    const std::size_t from = vocabulary_.depth(node);
    for (const Slice::End& e : slice.ends) {
        const TrieNode& n = trie.nodes[e.node];
        // Any token below the node spells the path to it; the closing quote is its last byte.
        const std::string& any = *vocabulary_.text(trie.tokens[n.first_token]);
        LexId lex = t.lex;
        std::uint32_t text = t.text, item = t.item;
        for (std::size_t k = 0; k < e.depth; ++k) {
            std::uint8_t byte = static_cast<std::uint8_t>(any[from + k]), decoded[4];
            std::uint32_t count = text ? lexemes_.decoded(lex, byte, decoded) : 0;
            for (std::uint32_t d = 0; d < count; ++d) text = engine_.keep_text(text - 1, decoded[d]) + 1;
            if (item) item = engine_.extend_item(item, lex, byte);
            lex = lexemes_.step(lex, byte);
        }
        engine_.item_ended = false;
        StateId after = text ? engine_.after_new_key(t.stack, text, item) : engine_.after(t.stack, item);
        if (after == dead_state) continue;
        std::uint32_t with = text ? close_key(keys, text - 1) : keys;
        if (item) with = add_item_mark(with, engine_.item_ended);
        set_tokens(trie, n, with);
        if (n.end == e.node + 1) continue;
        std::size_t begin = threads_.size();
        push_state(after);
        walk(trie, e.node, begin, threads_.size(), with);
        threads_.resize(begin);
    }
}

bool Masks::push_state(StateId state) {
    for (std::size_t i = 0, n = engine_.thread_count(state); i < n; ++i)
        if (const Thread& t = engine_.thread(state, i); !t.is_token()) threads_.push_back(t);
    return state != dead_state;
}

bool Masks::step_thread(const Thread& t, std::uint8_t byte, std::uint32_t& keys) {
    LexId lex = lexemes_.step(t.lex, byte);
    if (lex == dead_lex) return false;
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
        // In an item of a unique array whatever ends may leave only endings that were read before.
        if (item || engine_.item_ended) keys = add_item_mark(keys, engine_.item_ended);
    }
    if (item && !engine_.many_endings(lex)) keys = add_item_mark(keys, false);
    if (lexemes_.row(lex).live_bytes) {
        if (text && text != foreign_text && lexemes_.remaining_language(lex) != Languages::anything) {
            endings_.clear();
            engine_.few_endings(lex, text - 1, endings_);
            for (std::uint32_t e : endings_) keys = add_closed(keys, e);
            if (!endings_.empty() && !engine_.tracked_live(lex, text - 1, t.stack)) return alive;
        }
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
void Masks::child(const Trie& trie, std::uint32_t node, std::size_t begin, std::size_t end, std::uint32_t keys) {
    const TrieNode& n = trie.nodes[node];
    const std::size_t mark = threads_.size();
    bool alive = false;
    for (std::size_t i = begin; i < end; ++i) {
        const Thread t = threads_[i];
        alive |= step_thread(t, n.byte, keys);
    }
    if (alive) {
        // A lexeme may end here and nothing follow it but the end of the text: the token is allowed all the same.
        set_tokens(trie, n, keys);
        if (n.end != node + 1 && threads_.size() > mark) {
            tidy(mark);
            const std::size_t stop = threads_.size();
            if (stop - mark > walk_width) {
                std::vector<Thread> many(threads_.begin() + static_cast<std::ptrdiff_t>(mark), threads_.end());
                walk_states(trie, node, engine_.intern_threads(many, false), keys);
            } else if (n.end - node > slice_nodes && &trie == &vocabulary_.trie()) {
                add_threads(node, mark, stop, keys);
            } else {
                walk(trie, node, mark, stop, keys);
            }
        }
    }
    threads_.resize(mark);
}

void Masks::walk(const Trie& trie, std::uint32_t node, std::size_t begin, std::size_t end, std::uint32_t keys) {
    const auto* children = &trie == &vocabulary_.trie() ? vocabulary_.wide(node) : nullptr;
    if (children) {  // driven by the bytes the grammar allows, not by those the vocabulary has
        std::uint64_t live[4] = {0, 0, 0, 0};
        for (std::size_t i = begin; i < end; ++i) {
            const LexRow& row = lexemes_.row(threads_[i].lex);
            for (int w = 0; w < 4; ++w) live[w] |= row.live[w];
        }
        for (std::uint32_t w = 0; w < 4; ++w)
            for (std::uint64_t bits = live[w]; bits; bits &= bits - 1)
                if (std::uint32_t c = (*children)[w * 64 + static_cast<std::uint32_t>(std::countr_zero(bits))]) child(trie, c, begin, end, keys);
        return;
    }
    const std::uint32_t stop = trie.nodes[node].end;
    for (std::uint32_t c = node + 1; c < stop; c = trie.nodes[c].end) child(trie, c, begin, end, keys);
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

// ---- keys already taken ----------------------------------------------------------------------------------------

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
    if (node == 0 && lexemes_[lex].key.mode != LexMode::body) {
        const LexRow& row = lexemes_.row(lex);
        for (std::uint32_t b = 0; b < 256; ++b)
            if (row.live[b / 64] >> (b % 64) & 1)
                if (std::uint32_t c = vocabulary_.root_child(static_cast<std::uint8_t>(b))) visit(c);
        return;
    }
    if (node == 0) {  // only the raw byte, a backslash, or the closing quote can go on
        std::uint8_t first[3] = {'\\', '"', at < text.size() ? static_cast<std::uint8_t>(text[at]) : std::uint8_t{'"'}};
        for (int i = 0; i < 3; ++i)
            if (std::uint32_t c = vocabulary_.root_child(first[i]); c && (i < 2 || (first[2] != '"' && first[2] != '\\'))) visit(c);
        return;
    }
    for (std::uint32_t c = node + 1; c < trie.nodes[node].end; c = trie.nodes[c].end) visit(c);
}

}  // namespace scansion
