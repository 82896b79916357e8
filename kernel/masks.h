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
    static constexpr std::size_t memo_budget = 64u << 20;  // bytes per constraint; all are dropped when it is met
    static constexpr std::size_t slice_nodes = 48;         // smaller subtrees are walked, not looked up

    Masks(Engine& engine, Vocabulary& vocabulary) : engine_(engine), vocabulary_(vocabulary) {}

    // Writes ceil(V / 32) words.
    void fill(StateId state, std::uint32_t* out);
    // Ids of end tokens only.
    void fill_finished(std::uint32_t* out) const;
    std::size_t count() const { return live_memos_; }
    std::size_t bytes() const { return memo_bytes_; }

  private:
    struct Memo {
        std::shared_ptr<const Slice> base;   // its `bits` are copied first, where given
        std::vector<std::uint32_t> set;      // ids set on top
        std::vector<std::uint32_t> cleared;  // ids of the base taken away
        std::vector<std::uint32_t> whole;    // the full bitset, where the difference would be larger
    };
    void compute(StateId state, Memo& memo);
    void add_threads(const Trie& trie, std::uint32_t node, StateId state);
    void add_dense(std::uint32_t node, const Thread& thread);
    void walk(const Trie& trie, std::uint32_t node, StateId state);
    void below(const Trie& trie, std::uint32_t node, StateId state);
    void collect_taken(std::uint32_t node, LexId lex, std::uint32_t text, StackId stack, std::vector<std::uint32_t>& out);
    void set(std::uint32_t id) {
        std::uint32_t bit = 1u << (id % 32), &word = scratch_[id / 32];
        if (!(word & bit)) {
            word |= bit;
            added_.push_back(id);
        }
    }

    Engine& engine_;
    Vocabulary& vocabulary_;
    Lexemes& lexemes_ = Lexemes::instance();
    std::vector<std::uint32_t> memo_of_state_;
    std::vector<Memo> memos_;
    std::size_t live_memos_ = 0, memo_bytes_ = 0;
    std::vector<std::uint32_t> scratch_, added_;
    std::shared_ptr<const Slice> base_;
    bool whole_ = false;
};

}  // namespace scansion
