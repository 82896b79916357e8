// Masks: which tokens may come next in a state. Computed once per state and kept as a base slice and a difference.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "engine.h"
#include "vocabulary.h"

namespace scansion {

class Masks {
  public:
    static constexpr std::size_t memo_budget = 48u << 20;  // bytes per constraint; all are dropped when it is met
    static constexpr std::size_t slice_nodes = 48;         // smaller subtrees are walked, not looked up
    static constexpr std::size_t list_limit = 640;         // ids set one by one; more are cheaper as a whole bitset
    static constexpr std::size_t walk_width = 64;          // threads of a walk before it goes on over interned states

    Masks(Engine& engine, Vocabulary& vocabulary) : engine_(engine), vocabulary_(vocabulary) {}

    // Writes ceil(V / 32) words.
    void fill(StateId state, std::uint32_t* out);
    // Ids of end tokens only.
    void fill_finished(std::uint32_t* out) const;
    std::size_t count() const { return memos_.size(); }
    std::size_t bytes() const { return memo_bytes_; }

  private:
    struct Memo {
        std::shared_ptr<const Slice> base;   // its `bits` are copied first, where given
        std::vector<std::uint32_t> set;      // ids set on top
        std::vector<std::uint32_t> cleared;  // ids of the base taken away
        std::vector<std::uint32_t> whole;    // the full bitset, where the difference would be larger
        // Keys that some tokens hold whole, and those tokens: allowed here as if the keys were new. A state in which one of the keys is
        // taken has a mask of its own.
        std::vector<std::uint32_t> keys_closed, questioned;
        std::size_t bytes() const { return sizeof(Memo) + 4 * (set.capacity() + cleared.capacity() + whole.capacity() + questioned.capacity()); }
    };
    std::uint32_t memo_for(StateId state);
    std::uint32_t store(StateId state, Memo memo);
    bool shares(StateId state, const Memo& memo) const;
    void write(const Memo& memo, std::uint32_t* out) const;
    void compute(StateId state, Memo& memo);
    void keep(Memo& memo);

    void add_threads(std::uint32_t node, std::size_t begin, std::size_t end, bool questioned);
    void add_dense(std::uint32_t node, const Thread& thread, bool questioned);
    void add_new_key(std::uint32_t node, const Thread& thread, const Slice& slice);
    void walk(const Trie& trie, std::uint32_t node, std::size_t begin, std::size_t end, bool questioned);
    void child(const Trie& trie, std::uint32_t node, std::size_t begin, std::size_t end, bool questioned);
    bool step_thread(const Thread& thread, std::uint8_t byte, bool& questioned);  // pushes what follows; false: nothing does
    void push_state(StateId state);
    void tidy(std::size_t begin);
    bool sliceable(const Thread& thread);

    void walk_states(const Trie& trie, std::uint32_t node, StateId state, bool questioned);

    void collect_taken(std::uint32_t node, const Thread& thread, std::vector<std::uint32_t>& out);
    void collect_along(std::uint32_t node, LexId lex, const std::string& text, std::size_t at, std::vector<std::uint32_t>& out);
    void set(std::uint32_t id) {
        std::uint32_t bit = 1u << (id % 32), &word = scratch_[id / 32];
        if (!(word & bit)) {
            word |= bit;
            added_.push_back(id);
        }
    }
    void set(std::uint32_t id, bool questioned) {
        set(id);
        if (questioned) questioned_.push_back(id);
    }
    void set_tokens(const Trie& trie, const TrieNode& n, bool questioned) {
        for (std::uint32_t i = 0; i < n.token_count; ++i) set(trie.tokens[n.first_token + i], questioned);
    }

    Engine& engine_;
    Vocabulary& vocabulary_;
    Lexemes& lexemes_ = Lexemes::instance();
    std::vector<std::uint32_t> memo_of_state_;  // index + 1
    std::vector<Memo> memos_;
    std::size_t memo_bytes_ = 0;

    // of the mask being computed
    std::vector<std::uint32_t> scratch_, added_, keys_closed_, questioned_;
    std::vector<Thread> threads_;
    std::shared_ptr<const Slice> base_;
    bool whole_ = false;
};

}  // namespace scansion
