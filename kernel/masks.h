// Masks: which tokens may come next in a state. Computed once per state and kept as a base slice and a difference.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "engine.h"
#include "vocabulary.h"

namespace scansion {

class Masks {
  public:
    static constexpr std::size_t memo_budget = 48u << 20;  // bytes per constraint; all are dropped when it is met
    static constexpr std::size_t list_limit = 640;         // ids set one by one; more are cheaper as a whole bitset
    static constexpr std::size_t walk_width = 64;          // threads of a walk before it goes on over interned states

    Masks(Engine& engine, Vocabulary& vocabulary)
        : engine_(engine),
          vocabulary_(vocabulary),
          tokens_{vocabulary.longest_token(), vocabulary.key_tails(), [&vocabulary](LexId lex) { return vocabulary.shared_state(lex); },
                  [&vocabulary](std::string_view text) { return vocabulary.seen(text); },
                  [this](const Thread& thread, const Item& item) -> const KeyEnds& { return declared_ends(0, thread, item); }},
          own_(vocabulary.take_buffer()) {
        own_.resize(std::max(1u, vocabulary.words()));  // never without a place in memory
        scratch_ = own_.data();
    }
    ~Masks() { vocabulary_.give_back(std::move(own_)); }
    Masks(const Masks&) = delete;

    // Writes ceil(V / 32) words.
    void fill(StateId state, std::uint32_t* out);
    // The only id of the mask; -1: it has several, or none.
    std::int64_t only(StateId state);
    void prepare(StateId state) { memo_for(state); }
    // Whether the mask has been computed already.
    bool known(StateId state) const { return state < memo_of_state_.size() && memo_of_state_[state]; }
    // Ids of end tokens only.
    void fill_finished(std::uint32_t* out) const;
    std::size_t count() const { return memos_.size(); }
    std::size_t bytes() const { return memo_bytes_; }

  private:
    using KeyEnds = std::vector<std::pair<std::uint32_t, std::uint32_t>>;  // node where a key is closed, the key
    struct Memo {
        std::shared_ptr<const Slice> base;   // its `bits` are copied first, where given
        std::shared_ptr<const std::vector<std::uint32_t>> whole;  // or the full bitset
        std::vector<std::uint32_t> set;      // ids set on top
        std::vector<std::uint32_t> cleared;  // ids taken away
        // Tokens that close a key which began inside them, by key: allowed here as if every key were new.
        std::vector<std::pair<std::uint32_t, std::uint32_t>> questioned;  // text trie node, id; sorted
        std::vector<std::pair<std::uint32_t, LexId>> key_starts;  // nodes below which keys begin and are closed as if all were new
        std::size_t bytes() const {
            return sizeof(Memo) + 4 * (set.capacity() + cleared.capacity() + 2 * (questioned.capacity() + key_starts.capacity())) + (whole.use_count() == 1 ? whole->capacity() * 4 : 0);
        }
    };
    // Entries of `questioned` about items of unique arrays: in the token something ended (or may have too few endings) inside an item, an
    // item ended, and anything about the next one after it.
    // `same_key`: two keys of one token are equal, in one object or in two.
    // `some_key`: (on a path only) a key was closed whose text nobody looked at.
    // `few_keys`: another key must follow, and the language of keys has few words.
    static constexpr std::uint32_t some_key = 0xfffffff7u, few_keys = 0xfffffff8u, same_key = 0xfffffff9u;
    static constexpr std::uint32_t item_part = 0xfffffffau, item_end = 0xfffffffbu, second_item_end = 0xfffffffcu;
    std::uint32_t add_item_mark(std::uint32_t keys, bool ended);
    std::uint32_t memo_for(StateId state);
    std::uint32_t shared_memo(StateId folded);
    std::uint32_t store(Memo memo);
    void note(StateId state, std::uint32_t memo);
    void write(const Memo& memo, std::uint32_t* out) const;
    void compute(StateId state, Memo& memo);
    // Tokens to be tried one by one, and trie nodes (with the state reached there) below which what is set must be looked at again.
    struct Doubts {
        std::vector<std::uint32_t> tokens;
        std::vector<std::uint32_t> closing;  // nodes that close a taken key
    };
    void doubtful(StateId state, const Memo& memo, Doubts& out);
    bool reads_text(StateId state) const;
    bool settle(StateId state, Memo& memo);
    class Borrowed;
    void write_scratch(const Memo& memo);
    std::vector<std::uint32_t> refused_in(StateId state, const Memo& memo);
    void look_again(std::uint32_t node, StateId state, std::vector<std::uint32_t>& refused);
    bool is_set(const Memo& memo, std::uint32_t id) const;
    std::uint32_t close_key(std::uint32_t keys, std::uint32_t text);
    void doubtful_items(const Thread& thread, const Memo& memo, Doubts& out);

    void add_threads(std::uint32_t node, std::size_t begin, std::size_t end, std::uint32_t keys);
    void add_dense(std::uint32_t node, const Thread& thread, std::uint32_t keys);
    void add_new_text(std::uint32_t node, const Thread& thread, const std::shared_ptr<const Slice>& slice, std::uint32_t keys);
    void add_key(std::uint32_t node, const Thread& thread, const std::shared_ptr<const Slice>& slice, std::uint32_t keys);
    void add_end(std::uint32_t node, const Thread& thread, std::uint32_t text, std::uint32_t item, std::uint32_t keys);
    void begin(const std::shared_ptr<const Slice>* base);
    void add_slice(const std::shared_ptr<const Slice>& slice, std::uint32_t keys);
    void list_unset(std::uint32_t first, std::uint32_t last, std::vector<std::uint32_t>& out) const;
    void take_back(const std::vector<std::uint32_t>& ids);
    void walk_remainders(const Slice& slice, StateId after, std::uint32_t keys);
    bool digits_follow(std::size_t begin);
    const KeyEnds& declared_ends(std::uint32_t node, const Thread& thread, const Item& item);
    void walk(const Trie& trie, std::uint32_t node, std::size_t begin, std::size_t end, std::uint32_t keys);
    void child(const Trie& trie, std::uint32_t node, std::size_t begin, std::span<const LexRow* const> rows, std::uint32_t keys);
    void below(const Trie& trie, std::uint32_t node, std::size_t mark, std::uint32_t keys);
    void walk_keys(const Trie& trie, std::uint32_t node, KeyCursor at, StackId stack, std::uint32_t keys);
    void walk_words(const Trie& trie, std::uint32_t node, const Automaton& words, std::uint32_t at, StackId stack, std::uint32_t keys, std::uint32_t inside);
    void walk_plain(const Trie& trie, std::uint32_t node, Thread thread, std::uint32_t keys);
    bool step_thread(const Thread& thread, LexId lex, std::uint8_t byte, std::uint32_t& keys);  // pushes what follows; false: nothing does
    bool push_state(StateId state);  // false: nothing is there
    void tidy(std::size_t begin);
    bool sliceable(const Thread& thread, std::uint32_t node);

    void walk_states(const Trie& trie, std::uint32_t node, StateId state, std::uint32_t keys);

    void collect_along(std::uint32_t node, LexId lex, const std::string& text, std::size_t at, bool prefixes, Doubts& out);
    void set(std::uint32_t id) {
        std::uint32_t bit = 1u << (id % 32), &word = scratch_[id / 32];
        if (!(word & bit)) {
            word |= bit;
            added_.push_back(id);
        }
    }
    // `keys`: what closed_ holds of the keys that the token has read on its way, or none.
    void set(std::uint32_t id, std::uint32_t keys) {
        set(id);
        for (; keys != TextTrie::none; keys = closed_[keys].second)
            if (closed_[keys].first != some_key) questioned_.emplace_back(closed_[keys].first, id);
    }
    std::uint32_t add_closed(std::uint32_t keys, std::uint32_t text) {
        closed_.emplace_back(text, keys);
        return static_cast<std::uint32_t>(closed_.size() - 1);
    }
    std::uint32_t mark_begun(std::size_t begin, std::uint32_t keys);
    std::uint32_t mark_comma(const Thread& thread, std::uint32_t keys);
    bool has_few_words(LexId lex) { return !engine_.endless_key(lex, vocabulary_.longest_token()); }
    void set_tokens(const Trie& trie, const TrieNode& n, std::uint32_t keys) {
        for (std::uint32_t i = 0; i < n.token_count; ++i) set(trie.tokens[n.first_token + i], keys);
    }

    Engine& engine_;
    Vocabulary& vocabulary_;
    Lexemes& lexemes_ = Lexemes::instance();
    TokenView tokens_;
    std::vector<std::uint32_t> memo_of_state_;  // index + 1
    FlatMap unsettled_;  // by folded state: its memo, where the state itself has another, or none so far
    std::vector<Memo> memos_;
    std::size_t memo_bytes_ = 0;
    std::map<std::array<std::uint32_t, 4>, KeyEnds> declared_ends_;          // object, node, lexeme state, text

    // of the mask being computed
    std::vector<std::uint32_t> own_, added_;
    std::uint32_t* scratch_;  // words() words: own_, or a row that a caller wants filled
    std::vector<std::pair<std::uint32_t, std::uint32_t>> questioned_;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> closed_;  // text, and the entry before it on the path
    std::vector<std::pair<std::uint32_t, LexId>> key_starts_;
    std::vector<std::uint32_t> endings_;
    std::vector<Thread> threads_;
    std::shared_ptr<const Slice> base_;
    std::vector<std::uint32_t> cleared_;  // ids taken away again, unless set since
    bool begun_ = false;  // scratch_ is this mask's
    bool clean_ = false;  // scratch_ has no bit set
    static constexpr std::uint32_t nothing_in_scratch = 0xffffffffu;
    std::uint32_t in_scratch_ = nothing_in_scratch;  // the memo whose mask scratch_ holds
};

}  // namespace scansion
