#include "masks.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "bits.h"

namespace scansion {

// ---- memo ------------------------------------------------------------------------------------------------------

void Masks::fill_finished(std::uint32_t* out) const {
    std::memset(out, 0, vocabulary_.words() * 4);
    for (std::uint32_t id : vocabulary_.eos()) out[id / 32] |= 1u << (id % 32);
}

// A new mask is made in the row that wants it, not copied there.
class Masks::Borrowed {
  public:
    Borrowed(Masks& masks, std::uint32_t* row) : masks_(masks), clean_(masks.clean_) {
        masks.scratch_ = row;
        masks.clean_ = false;
        masks.in_scratch_ = nothing_in_scratch;
    }
    ~Borrowed() {
        masks_.scratch_ = masks_.own_.data();
        masks_.clean_ = clean_;
        masks_.in_scratch_ = nothing_in_scratch;
    }
    Borrowed(const Borrowed&) = delete;

  private:
    Masks& masks_;
    const bool clean_;
};

void Masks::fill(StateId state, std::uint32_t* out) {
    if (known(state)) return write(memos_[memo_of_state_[state] - 1], out);
    const Borrowed borrowed(*this, out);
    try {
        const std::uint32_t memo = memo_for(state);
        if (memo != in_scratch_) write(memos_[memo], out);
    } catch (...) {  // half a mask is none
        std::memset(out, 0, vocabulary_.words() * 4);
        throw;
    }
}

void Masks::write_scratch(const Memo& memo) {
    in_scratch_ = nothing_in_scratch;
    clean_ = false;
    write(memo, scratch_);
}

std::int64_t Masks::only(StateId state) {
    const Memo& memo = memos_[memo_for(state)];
    if (!memo.whole && !memo.base && memo.set.size() > memo.cleared.size() + 1) return -1;
    write_scratch(memo);
    std::int64_t found = -1;
    for (std::size_t w = 0; w < vocabulary_.words(); ++w) {
        if (!scratch_[w]) continue;
        if (found >= 0 || !std::has_single_bit(scratch_[w])) return -1;
        found = static_cast<std::int64_t>(w * 32) + std::countr_zero(scratch_[w]);
    }
    return found;
}

void Masks::note(StateId state, std::uint32_t memo) {
    if (memo_of_state_.size() <= state) memo_of_state_.resize(std::max<std::size_t>(engine_.state_count() * 3 / 2, state + 1u), 0);
    memo_of_state_[state] = memo + 1;
}

std::uint32_t Masks::store(Memo memo) {
    memo_bytes_ += memo.bytes();
    memos_.push_back(std::move(memo));
    return static_cast<std::uint32_t>(memos_.size() - 1);
}

std::uint32_t Masks::memo_for(StateId state) {
    if (known(state)) return memo_of_state_[state] - 1;
    if (memo_bytes_ > memo_budget) {
        memos_.clear();
        in_scratch_ = nothing_in_scratch;
        unsettled_ = {};
        std::fill(memo_of_state_.begin(), memo_of_state_.end(), 0);
        memo_bytes_ = 0;
    }
    // Where few keys can be being read the mask is sooner made than what other masks it might share.
    const StateId folded = engine_.reads_few_keys(state) ? state : engine_.fold(state, tokens_);
    const std::uint32_t shared = shared_memo(folded);
    const std::vector<std::uint32_t> refused = refused_in(state, memos_[shared]);
    if (refused.empty()) {
        note(state, shared);
        return shared;
    }
    if (folded == state && known(state)) unsettled_.insert(state, shared);  // others fold to it
    Memo own = memos_[shared];
    own.questioned.clear();
    own.key_starts.clear();
    own.cleared.insert(own.cleared.end(), refused.begin(), refused.end());
    note(state, store(std::move(own)));
    return memo_of_state_[state] - 1;
}

// The memo for all states that fold to this one, with what each of them must ask itself. Where a text is being read that stands for others, tokens
// that hold one key twice are among that: of another text they may hold two keys.
std::uint32_t Masks::shared_memo(StateId folded) {
    if (const std::uint32_t unsettled = unsettled_.find(folded); unsettled != FlatMap::none) return unsettled;
    if (known(folded)) return memo_of_state_[folded] - 1;
    Memo memo;
    compute(folded, memo);
    const std::uint32_t shared = store(std::move(memo));
    bool same = true;
    if (reads_text(folded)) {
        unsettled_.insert(folded, shared);
    } else {
        same = !settle(folded, memos_[shared]);
        note(folded, shared);
    }
    if (same && !clean_) in_scratch_ = shared;
    return shared;
}

// Some thread reads a text that others read differently.
bool Masks::reads_text(StateId state) const {
    for (std::size_t i = 0; i < engine_.thread_count(state); ++i)
        if (const Thread& t = engine_.thread(state, i); t.text || t.item == foreign_text) return true;
    return false;
}

// Tokens that hold one key twice, taken away; whether there are any. In a state that folds to itself nothing else can be doubtful.
bool Masks::settle(StateId state, Memo& memo) {
    auto same = [](const auto& q) { return q.first == same_key; };
    if (std::none_of(memo.questioned.begin(), memo.questioned.end(), same)) return false;
    const std::vector<std::uint32_t> refused = refused_in(state, memo);
    memo.cleared.insert(memo.cleared.end(), refused.begin(), refused.end());
    std::erase_if(memo.questioned, same);
    return !refused.empty();
}

// Of the tokens that the mask of a folded state allows, those that the state itself does not.
std::vector<std::uint32_t> Masks::refused_in(StateId state, const Memo& memo) {
    Doubts doubts;
    doubtful(state, memo, doubts);
    std::vector<std::uint32_t> refused;
    for (std::uint32_t id : doubts.tokens)
        if (is_set(memo, id) && engine_.step(state, *vocabulary_.text(id)) == dead_state && engine_.step_token(state, id) == dead_state) refused.push_back(id);
    if (doubts.closing.empty()) return refused;
    const Trie& trie = vocabulary_.trie();
    write_scratch(memo);
    for (std::uint32_t node : doubts.closing) {
        const std::uint32_t first = trie.nodes[node].first_token, last = trie.nodes[trie.nodes[node].end].first_token;
        if (std::none_of(trie.tokens.begin() + first, trie.tokens.begin() + last, [&](std::uint32_t id) { return scratch_[id / 32] >> (id % 32) & 1; })) continue;
        // Any token below the node spells the way to it.
        std::string_view text = *vocabulary_.text(trie.tokens[first]);
        look_again(node, engine_.step(state, text.substr(0, vocabulary_.depth(node))), refused);
    }
    if (engine_.has_token_edges(state)) std::erase_if(refused, [&](std::uint32_t id) { return engine_.step_token(state, id) != dead_state; });
    return refused;
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
    begun_ = false;
    in_scratch_ = nothing_in_scratch;
    added_.clear();
    questioned_.clear();
    closed_.clear();
    key_starts_.clear();
    threads_.clear();
    base_.reset();
    cleared_.clear();
    push_state(state);
    add_threads(0, 0, threads_.size(), TextTrie::none);
    begin(nullptr);
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
    memo.key_starts = key_starts_;
    if (added_.size() > list_limit) {
        memo.whole = vocabulary_.whole(scratch_);
        return;
    }
    memo.base = base_;
    memo.set.reserve(added_.size());
    for (std::uint32_t id : added_)
        if (scratch_[id / 32] >> (id % 32) & 1) memo.set.push_back(id);
    if (base_) {
        for (std::uint32_t id : cleared_)
            if ((base_->bits[id / 32] >> (id % 32) & 1) && !(scratch_[id / 32] >> (id % 32) & 1)) memo.cleared.push_back(id);
    } else if (scratch_ == own_.data()) {
        for (std::uint32_t id : added_) scratch_[id / 32] = 0;
        clean_ = true;
    }
}

// ---- slices ----------------------------------------------------------------------------------------------------

bool Masks::sliceable(const Thread& t, std::uint32_t node) {
    // A value's opening quote has few tokens behind it, but the same ones in every grammar.
    if (node == 0 && !t.text && !t.item && lexemes_[t.lex].key.mode == LexMode::quote) return true;
    if (!lexemes_.dense(t.lex) || (t.item && (lexemes_[t.lex].key.mode == LexMode::text || !engine_.many_endings(t.lex)))) return false;
    // Where an item of a unique array begins behind the lexeme, tokens may be in doubt that a slice would not tell apart.
    if (!t.text && lexemes_[t.lex].key.mode == LexMode::text)
        for (const Item& item : engine_.items(t.stack))
            if ((item.kind() == Resume::array_next || item.kind() == Resume::array_open) && engine_.array_frames().spec(item.data).unique) return false;
    if (t.text) {
        // A key of few words that begins in this token is walked, so that tokens which leave it no way on are noticed.
        if (t.text != foreign_text && !engine_.endless_key(t.lex, vocabulary_.longest_token())) return false;
        for (const Item& item : engine_.items(t.stack))
            if (item.kind() != Resume::object_group) return false;
    }
    return true;
}

// Tokens below `node` of the vocabulary's trie, for threads_[begin, end): dense ones by their slices, the rest walked together.
void Masks::add_threads(std::uint32_t node, std::size_t begin, std::size_t end, std::uint32_t keys) {
    std::size_t sparse = begin;
    for (std::size_t i = begin; i < end; ++i) {
        if (!sliceable(threads_[i], node)) {
            std::swap(threads_[sparse], threads_[i]);
            ++sparse;
        }
    }
    for (std::size_t i = sparse; i < end; ++i) {
        const Thread t = threads_[i];
        add_dense(node, t, keys);
    }
    if (sparse == begin) return;
    this->begin(nullptr);
    walk(vocabulary_.trie(), node, begin, sparse, keys);
}

// The mask begins as the first slice's bits, or empty.
void Masks::begin(const std::shared_ptr<const Slice>* base) {
    if (begun_) return;
    begun_ = true;
    if (base) {
        base_ = *base;
        std::memcpy(scratch_, base_->bits.data(), vocabulary_.words() * 4);
    } else if (!clean_) {
        std::memset(scratch_, 0, vocabulary_.words() * 4);
    }
    clean_ = false;
}

void Masks::add_dense(std::uint32_t node, const Thread& t, std::uint32_t keys) {
    auto slice = vocabulary_.slice(node, node == 0 ? t.lex : lexemes_.fold_lengths(t.lex, vocabulary_.longest_token()));
    const bool tells_text = t.text && t.text != foreign_text;
    if ((tells_text && t.item) || (node != 0 && t.item && t.item != foreign_text)) return add_new_text(node, t, slice, keys);
    if (tells_text) return add_key(node, t, slice, keys);
    add_slice(slice, keys);
    if (slice->may_leave() || (t.item && !slice->ends->empty())) {
        const std::uint32_t item = t.item ? foreign_text : 0;
        engine_.item_ended = false;
        StateId after = t.text ? engine_.after_unknown_key(t.stack, item) : engine_.after(t.stack, item);
        if (t.item) {
            keys = add_item_mark(keys, engine_.item_ended);
            for (const Slice::End& e : *slice->ends) set_tokens(vocabulary_.trie(), vocabulary_.trie().nodes[e.node], keys);
        }
        walk_remainders(*slice, after, keys);
    }
}

void Masks::add_slice(const std::shared_ptr<const Slice>& slice, std::uint32_t keys) {
    if (slice->bits.empty()) {
        begin(nullptr);
    } else if (!begun_) {
        begin(&slice);
    } else if (slice != base_) {
        base_ = base_ ? vocabulary_.joined(*base_, *slice) : slice;
        join_bits(scratch_, slice->bits.data(), vocabulary_.words());
    }
    for (std::uint32_t id : slice->stay) set(id, keys);
}

// Ids of trie_.tokens[first, last) that nothing has allowed so far.
void Masks::list_unset(std::uint32_t first, std::uint32_t last, std::vector<std::uint32_t>& out) const {
    const auto& tokens = vocabulary_.trie().tokens;
    for (std::uint32_t i = first; i < last; ++i)
        if (!begun_ || !(scratch_[tokens[i] / 32] >> (tokens[i] % 32) & 1)) out.push_back(tokens[i]);
}

void Masks::take_back(const std::vector<std::uint32_t>& ids) {
    for (std::uint32_t id : ids) scratch_[id / 32] &= ~(1u << (id % 32));
    cleared_.insert(cleared_.end(), ids.begin(), ids.end());
}

// Some thread from `begin` on goes on with a digit.
bool Masks::digits_follow(std::size_t begin) {
    return std::any_of(threads_.begin() + static_cast<std::ptrdiff_t>(begin), threads_.end(), [&](const Thread& t) {
        return !lexemes_.in_keys(t.lex) && lexemes_.row(t.lex).live[0] >> '0' & 0x3ff;  // what is declared begins with a quote
    });
}

void Masks::walk_remainders(const Slice& slice, StateId after, std::uint32_t keys) {
    if (after == dead_state) return;
    const std::size_t begin = threads_.size();
    push_state(after);
    const std::size_t end = threads_.size();
    keys = mark_begun(begin, keys);
    walk(*slice.remainders, 0, begin, end, keys);
    for (std::uint32_t exit : slice.exits) walk(vocabulary_.trie(), exit, begin, end, keys);
    if (!slice.digit_exits.empty() && digits_follow(begin))
        for (std::uint32_t exit : slice.digit_exits) walk(vocabulary_.trie(), exit, begin, end, keys);
    threads_.resize(begin);
}

// An additional key, from its beginning or where it may still become a declared one: all ends together as if its text were new to every object,
// then those that close a declared key each on its own.
void Masks::add_key(std::uint32_t node, const Thread& t, const std::shared_ptr<const Slice>& slice, std::uint32_t keys) {
    const Trie& trie = vocabulary_.trie();
    KeyEnds ends;
    for (const Item& i : engine_.items(t.stack)) {
        const KeyEnds& more = declared_ends(node, t, i);
        ends.insert(ends.end(), more.begin(), more.end());
    }
    if (engine_.items(t.stack).size() > 1) sort_unique(ends);
    std::vector<std::uint32_t> ours;  // tokens that close a declared key and no other thread has allowed
    for (const auto& [end, text] : ends) list_unset(trie.nodes[end].first_token, trie.nodes[trie.nodes[end].end].first_token, ours);
    const std::size_t questions = questioned_.size();
    add_slice(slice, keys);
    if (slice->may_leave())
        walk_remainders(*slice, engine_.after_unknown_key(t.stack), add_closed(keys, some_key));
    take_back(ours);
    if (questioned_.size() > questions) {
        std::sort(ours.begin(), ours.end());
        auto gone = [&](const auto& q) { return std::binary_search(ours.begin(), ours.end(), q.second); };
        questioned_.erase(std::remove_if(questioned_.begin() + static_cast<std::ptrdiff_t>(questions), questioned_.end(), gone), questioned_.end());
    }
    for (const auto& [end, text] : ends) add_end(end, t, text + 1, 0, keys);
    if (node != 0) key_starts_.emplace_back(node, t.lex);
}

// Where tokens from `node` on close a key that the item's object declares.
const Masks::KeyEnds& Masks::declared_ends(std::uint32_t node, const Thread& t, const Item& item) {
    const std::array<std::uint32_t, 4> place{engine_.spec_of(item), node, t.lex, t.text};
    if (auto known = declared_ends_.find(place); known != declared_ends_.end()) return known->second;
    const std::string read = engine_.texts().text(t.text - 1);
    const auto may_close = vocabulary_.may_close(node, lexemes_[t.lex].key.mode);
    KeyEnds ends;
    Doubts found;
    engine_.for_each_declared(item, [&](const std::string& key, std::uint32_t text) {
        if (!key.starts_with(read) || !may_close(std::string_view(key).substr(read.size()))) return;
        collect_along(node, t.lex, key, read.size(), false, found);
        for (std::uint32_t end : found.closing) ends.emplace_back(end, text);
        found.closing.clear();
    });
    return declared_ends_.emplace(place, std::move(ends)).first->second;
}

// The end of a key or an item whose whole text is known.
void Masks::add_end(std::uint32_t node, const Thread& t, std::uint32_t text, std::uint32_t item, std::uint32_t keys) {
    const Trie& trie = vocabulary_.trie();
    const TrieNode& n = trie.nodes[node];
    engine_.item_ended = false;
    const StateId after = text ? engine_.after_new_key(t.stack, text, item) : engine_.after(t.stack, item);
    if (after == dead_state) return;
    std::uint32_t with = text ? close_key(keys, text - 1) : keys;
    if (item) with = add_item_mark(with, engine_.item_ended);
    set_tokens(trie, n, with);
    if (n.end == node + 1) return;
    const std::size_t begin = threads_.size();
    push_state(after);
    walk(trie, node, begin, threads_.size(), with);
    threads_.resize(begin);
}

// An item that began inside the token: where the token also ends it, its whole text is known and judged.
void Masks::add_new_text(std::uint32_t node, const Thread& t, const std::shared_ptr<const Slice>& slice, std::uint32_t keys) {
    const Trie& trie = vocabulary_.trie();
    std::vector<std::uint32_t> fresh;  // closing tokens that no other thread has allowed
    for (const Slice::End& e : *slice->ends) list_unset(trie.nodes[e.node].first_token, trie.nodes[e.node].first_token + trie.nodes[e.node].token_count, fresh);
    add_slice(slice, keys);
    take_back(fresh);
    const std::size_t from = vocabulary_.depth(node);
    for (const Slice::End& e : *slice->ends) {
        // Any token below the node spells the path to it; the closing quote is its last byte.
        const std::string& any = *vocabulary_.text(trie.tokens[trie.nodes[e.node].first_token]);
        LexId lex = t.lex;
        std::uint32_t text = t.text, item = t.item;
        for (std::size_t k = 0; k < e.depth; ++k) {
            std::uint8_t byte = static_cast<std::uint8_t>(any[from + k]), decoded[4];
            std::uint32_t count = text && text != foreign_text ? lexemes_.decoded(lex, byte, decoded) : 0;
            for (std::uint32_t d = 0; d < count; ++d) text = engine_.keep_text(text - 1, decoded[d]) + 1;
            if (item) item = engine_.extend_item(item, lex, byte);
            lex = lexemes_.step(lex, byte);
        }
        add_end(e.node, t, text, item, keys);
    }
}

}  // namespace scansion
