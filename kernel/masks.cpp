#include "masks.h"

#include <algorithm>
#include <cstring>

namespace scansion {

void Masks::fill_finished(std::uint32_t* out) const {
    std::memset(out, 0, vocabulary_.words() * 4);
    for (std::uint32_t id : vocabulary_.eos()) out[id / 32] |= 1u << (id % 32);
}

void Masks::fill(StateId state, std::uint32_t* out) {
    if (state >= memo_of_state_.size()) memo_of_state_.resize(std::max<std::size_t>(engine_.state_count(), state + 1), 0);
    std::uint32_t index = memo_of_state_[state];
    if (index == 0) {
        if (memo_bytes_ > memo_budget) {
            memos_.clear();
            std::fill(memo_of_state_.begin(), memo_of_state_.end(), 0);
            memo_bytes_ = 0;
        }
        Memo memo;
        compute(state, memo);
        memo_bytes_ += sizeof(Memo) + 4 * (memo.set.capacity() + memo.cleared.capacity() + memo.whole.capacity());
        memos_.push_back(std::move(memo));
        live_memos_ = memos_.size();
        index = memo_of_state_[state] = static_cast<std::uint32_t>(memos_.size());
    }
    const Memo& memo = memos_[index - 1];
    const std::size_t bytes = vocabulary_.words() * 4;
    if (!memo.whole.empty()) {
        std::memcpy(out, memo.whole.data(), bytes);
        return;
    }
    if (memo.base)
        std::memcpy(out, memo.base->bits.data(), bytes);
    else
        std::memset(out, 0, bytes);
    for (std::uint32_t id : memo.set) out[id / 32] |= 1u << (id % 32);
    for (std::uint32_t id : memo.cleared) out[id / 32] &= ~(1u << (id % 32));
}

void Masks::compute(StateId state, Memo& memo) {
    scratch_.assign(vocabulary_.words(), 0);
    added_.clear();
    base_.reset();
    whole_ = false;
    add_threads(vocabulary_.trie(), 0, state);
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
    if (whole_ || added_.size() > vocabulary_.words()) {
        memo.whole = scratch_;
        return;
    }
    memo.base = base_;
    for (std::uint32_t id : added_)
        if (scratch_[id / 32] >> (id % 32) & 1) memo.set.push_back(id);
    if (base_)
        for (std::size_t w = 0; w < scratch_.size(); ++w)
            for (std::uint32_t gone = base_->bits[w] & ~scratch_[w]; gone; gone &= gone - 1)
                memo.cleared.push_back(static_cast<std::uint32_t>(w * 32) + static_cast<std::uint32_t>(__builtin_ctz(gone)));
    memo.set.shrink_to_fit();
}

// Tokens below `node` of the vocabulary's trie: dense threads by their slices, the rest walked together.
void Masks::add_threads(const Trie& trie, std::uint32_t node, StateId state) {
    std::vector<Thread> dense, sparse;
    for (std::size_t i = 0; i < engine_.thread_count(state); ++i) {
        const Thread t = engine_.thread(state, i);
        if (t.is_token()) continue;
        bool sliced = lexemes_.dense(t.lex);
        if (sliced && t.text)
            for (const Item& item : engine_.items(t.stack)) sliced &= item.kind() == Resume::object_group;
        (sliced ? dense : sparse).push_back(t);
    }
    for (const Thread& t : dense) add_dense(node, t);
    if (!sparse.empty()) walk(trie, node, dense.empty() ? state : engine_.intern_threads(sparse, false));
}

void Masks::add_dense(std::uint32_t node, const Thread& t) {
    std::vector<std::uint32_t> taken;
    std::vector<std::uint32_t> before;
    if (t.text) {
        collect_taken(node, t.lex, t.text - 1, t.stack, taken);
        if (!taken.empty()) before = scratch_;
    }
    auto slice = vocabulary_.slice(node, lexemes_.fold_lengths(t.lex, vocabulary_.longest_token()));
    if (!slice->bits.empty()) {
        if (!base_ && node == 0)
            base_ = slice;
        else
            whole_ = true;
        for (std::size_t w = 0; w < scratch_.size(); ++w) scratch_[w] |= slice->bits[w];
    }
    for (std::uint32_t id : slice->stay) set(id);
    StateId after = t.text ? engine_.after_unknown_key(t.stack) : engine_.after(t.stack);
    if (after != dead_state) {
        walk(slice->remainders, 0, after);
        for (std::uint32_t exit : slice->exits) walk(vocabulary_.trie(), exit, after);
    }
    for (std::uint32_t id : taken)
        if (!(before[id / 32] >> (id % 32) & 1)) scratch_[id / 32] &= ~(1u << (id % 32));
}

void Masks::walk(const Trie& trie, std::uint32_t node, StateId state) {
    if (node == 0 && &trie == &vocabulary_.trie()) {
        engine_.for_each_candidate(state, [&](std::uint8_t byte) {
            std::uint32_t c = vocabulary_.root_child(byte);
            if (c == 0) return;
            StateId to = engine_.step(state, byte);
            if (to != dead_state) below(trie, c, to);
        });
        return;
    }
    const std::uint32_t end = trie.nodes[node].end;
    for (std::uint32_t c = node + 1; c < end; c = trie.nodes[c].end) {
        StateId to = engine_.step(state, trie.nodes[c].byte);
        if (to != dead_state) below(trie, c, to);
    }
}

// `state` is reached at `node`: its tokens are allowed, and what is below is looked at.
void Masks::below(const Trie& trie, std::uint32_t node, StateId state) {
    const TrieNode& n = trie.nodes[node];
    for (std::uint32_t i = 0; i < n.token_count; ++i) set(trie.tokens[n.first_token + i]);
    if (n.end == node + 1) return;
    if (n.end - node > slice_nodes && &trie == &vocabulary_.trie())
        add_threads(trie, node, state);
    else
        walk(trie, node, state);
}

// Tokens that would close a key already taken: a walk along the texts known from `text` on.
void Masks::collect_taken(std::uint32_t node, LexId lex, std::uint32_t text, StackId stack, std::vector<std::uint32_t>& out) {
    const Trie& trie = vocabulary_.trie();
    const TextTrie& texts = engine_.texts();
    auto visit = [&](std::uint32_t c) {
        std::uint8_t byte = trie.nodes[c].byte;
        LexId to = lexemes_.step(lex, byte);
        if (to == dead_lex) return;
        if (lexemes_.accepting(to)) {
            if (engine_.key_is_taken(stack, text))
                out.insert(out.end(), trie.tokens.begin() + trie.nodes[c].first_token, trie.tokens.begin() + trie.nodes[trie.nodes[c].end].first_token);
            return;
        }
        std::uint8_t decoded[4];
        std::uint32_t n = lexemes_.decoded(lex, byte, decoded), at = text;
        for (std::uint32_t i = 0; i < n; ++i) {
            at = texts.child(at, decoded[i]);
            if (at == TextTrie::none) return;
        }
        collect_taken(c, to, at, stack, out);
    };
    for (std::uint32_t c = node + 1; c < trie.nodes[node].end; c = trie.nodes[c].end) visit(c);
}

}  // namespace scansion
