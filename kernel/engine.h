// States of a program: interned sets of threads over hash-consed stacks, and their byte transitions.
//
// A stack is a *continuation set*: an interned sorted set of items (program point, frame data, parent continuation set), the graph-structured stack of
// Tomita (1985). Callers that enter one rule at one position share one activation, so ambiguity costs polynomially. A *thread* is a lexeme state, a
// tracked text and a continuation set. A *state* is an interned set of threads, closed: where a lexeme may end here, what follows it is there too.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "conditions.h"
#include "frames.h"
#include "json_values.h"
#include "key_tails.h"
#include "lexeme.h"
#include "program.h"
#include "text_trie.h"

namespace scansion {

using StateId = std::uint32_t;
using StackId = std::uint32_t;
constexpr StateId dead_state = 0;
constexpr StateId unknown_state = 0xffffffffu;

// A state, and how many tokens have ended since the first budget that is still open there began. Steps do not depend on time.
struct Moment {
    StateId state = dead_state;
    std::uint32_t time = 0;
    bool ended = false;  // a budget was over, or would have been but for an open character
};

// What an item resumes: the top four bits of its program point.
enum class Resume : std::uint32_t {
    node = 0,       // low bits: node index
    repeat,         // low bits: REPEAT node; data: repetitions done
    object_open,    // data: object frame
    object_key,     // a declared key was read
    object_group,   // low bits: group; a key of it was read
    object_value,   // the colon was read
    object_after,   // low bits: which alternative the value matched
    object_next,    // a comma was read
    array_open,
    array_after,    // low bits: which alternative the item matched
    array_next,
    budget,         // low bits: BUDGET node, as of the next two; no byte of its rule was read
    budget_begun,   // one was read in this token
    budget_until,   // data: the time of its end
    accept = 15,
};

struct Item {
    std::uint32_t point, data;
    StackId parent;
    bool operator==(const Item&) const = default;
    auto operator<=>(const Item&) const = default;
    Resume kind() const { return static_cast<Resume>(point >> 28); }
    std::uint32_t low() const { return point & 0x0fffffffu; }
};
inline std::uint32_t point_of(Resume kind, std::uint32_t low = 0) { return static_cast<std::uint32_t>(kind) << 28 | low; }

// Thread::text where the text is not in the trie, so that no key taken can equal it (masks only).
constexpr std::uint32_t foreign_text = 0xfffffffeu;

constexpr LexId token_thread = 0x80000000u;  // flag in Thread::lex: a TOKEN edge; the rest is the token set

struct Thread {
    LexId lex;
    std::uint32_t text;  // 0: not tracked; else text trie node + 1
    StackId stack;
    std::uint32_t item = 0;  // inside an item of a unique array: its text so far, as `text` is
    bool operator==(const Thread&) const = default;
    auto operator<=>(const Thread&) const = default;
    bool is_token() const { return lex & token_thread; }
    std::uint32_t token_set() const { return lex & ~token_thread; }
};

struct EngineLimits {
    std::size_t threads = 20000;            // of one state
    std::size_t depth = 100000;             // of one stack
    std::size_t bytes = std::size_t{1} << 30;  // of all tables of one constraint
    std::size_t work = 100000;                 // items resumed or passed on at one position of the text
};

// What folding must know of a vocabulary.
struct TokenView {
    std::uint32_t longest;                    // bytes of a token
    const KeyTails& tails;
    std::function<LexId(LexId)> share;        // for a lexeme state one that no token tells apart from it
    std::function<Seen(std::string_view)> seen;  // how much of a text some token begins with
    // Where tokens end a key that the item's object declares, from such a thread on: nodes of the trie, and the keys.
    std::function<const std::vector<std::pair<std::uint32_t, std::uint32_t>>&(const Thread&, const Item&)> declared_ends;
};

class Engine {
  public:
    explicit Engine(std::shared_ptr<const Program> program);

    StateId start() const { return start_; }
    StateId step(StateId state, std::uint8_t byte);
    StateId step(StateId state, std::string_view bytes);
    // The state after token `id` taken as a token terminal, or dead.
    StateId step_token(StateId state, std::uint32_t id);
    // A token has ended: time goes on, budgets that began in it get the time of their end, and those whose time it is are over.
    Moment end_token(Moment moment);
    bool accepting(StateId s) const { return states_[s].accepting; }
    bool has_token_edges(StateId s) const { return states_[s].token_edges; }
    std::size_t thread_count(StateId s) const { return states_[s].count; }
    const Thread& thread(StateId s, std::size_t i) const { return threads_[states_[s].first + i]; }
    StateId intern_threads(std::vector<Thread>& threads, bool accepting);
    // What follows when the lexeme of a thread on `stack` ends (no key read).
    StateId after(StackId stack, std::uint32_t item = 0);
    // The same for a key whose text no token need know (mask walks).
    StateId after_unknown_key(StackId stack, std::uint32_t item = 0);
    // The state whose mask is this one's: counters far from their bounds, used keys, texts no token can complete and places in objects that
    // no token tells apart are folded. All calls are with the same view.
    StateId fold(StateId state, const TokenView& tokens);
    // Nothing but one of very few declared keys can be what is being read.
    bool reads_few_keys(StateId state) const;
    StateId after_key(StackId stack, std::uint32_t key, std::uint32_t text, std::uint32_t item = 0);  // text: trie node + 1, or 0 where `key` is given
    // The text of a unique array's item with one byte more; white space between JSON tokens is no part of it.
    std::uint32_t extend_item(std::uint32_t item, LexId lex, std::uint8_t byte);
    // Set where an item of a unique array has ended in the call of `after*` before; the caller clears it.
    bool item_ended = false;
    bool uses_values(StackId stack) const { return stacks_[stack].uses_values; }
    // Calls `visit(text so far, frame)` for each unique array whose item the stack is inside of.
    template <class Visit>
    void for_each_open_item(StackId root, std::uint32_t item, Visit visit) const {
        std::vector<StackId> todo{root};
        for (std::size_t n = 0; !todo.empty() && n < 4096; ++n) {
            StackId s = todo.back();
            todo.pop_back();
            if (!stacks_[s].uses_values) continue;
            for (const Item& i : stacks_[s].items) {
                if (i.kind() == Resume::array_after && arrays_.spec(i.data).unique) visit(item_text(arrays_[i.data].start, item), i.data);
                todo.push_back(i.parent);
            }
        }
    }
    // Whether the lexeme can end in more ways than could all have been read before: free strings and numbers.
    bool many_endings(LexId lex);
    const JsonValues& values() const { return values_; }
    bool ordered() const { return ordered_; }
    bool tracked_live(LexId lex, std::uint32_t text, StackId stack);
    std::uint32_t keep_text(std::uint32_t node, std::uint8_t byte) { return texts_.insert(node, byte); }
    // Whether the additional key `text` was used in any object the stack is inside of.
    bool uses_key(StackId stack, std::uint32_t text) const;
    // What follows a new key in a mask's walk, without remembering its text where no object of the stack declares it.
    StateId after_new_key(StackId stack, std::uint32_t text, std::uint32_t item);
    // Of what may come after a comma: items of a unique array, and keys of a language of few words. All calls are with the same `longest`.
    struct Scarce {
        bool known = false, items = false, keys = false;
    };
    Scarce scarce_after_comma(StackId stack, std::uint32_t longest);
    bool item_takes(const Item& item, std::uint32_t text) const;  // the key is declared or used already there
    StateId merge(StateId a, StateId b);
    void live_bytes(StateId s, std::uint64_t out[4]);
    // Additional keys that a key being read on `stack` must not become again.
    template <class Visit>
    void for_each_used(StackId stack, Visit visit) const {
        for (const Item& i : stacks_[stack].items)
            if (i.kind() == Resume::object_group) objects_.for_each_used(i.data, visit);
    }
    // The same of all objects the stack is inside of.
    template <class Visit>
    void for_each_used_outside(StackId root, Visit visit) const {
        any_object_outside(root, [&](FrameId frame) { return objects_.for_each_used(frame, visit), false; });
    }
    bool reads_additional_key(StackId stack) const {
        return std::any_of(stacks_[stack].items.begin(), stacks_[stack].items.end(), [](const Item& i) { return i.kind() == Resume::object_group; });
    }
    bool uses_keys(StackId stack) const { return stacks_[stack].uses_keys; }
    // Calls `visit(key, its node among the texts)` for each key that the object of a group's item declares.
    template <class Visit>
    void for_each_declared(const Item& item, Visit visit) const {
        const std::uint32_t spec = objects_[item.data].spec;
        const auto& properties = program_->objects[spec].properties;
        for (std::size_t i = 0; i < key_nodes_[spec].size(); ++i) visit(lexemes_.key_text(properties[i].key), key_nodes_[spec][i]);
    }
    std::uint32_t spec_of(const Item& item) const { return objects_[item.data].spec; }
    // Some object declares a key that begins so.
    bool begins_declared(std::uint32_t text) const { return text < declared_prefix_.size() && declared_prefix_[text]; }
    // However a token of `longest` bytes goes on, a key of that lexeme can still become one that is new.
    bool endless_key(LexId lex, std::uint32_t longest) const;
    // All words a key being read can still become, as texts, where they are finitely many and few; else nothing.
    void few_endings(LexId lex, std::uint32_t text, std::vector<std::uint32_t>& out);
    // Calls `visit(byte)` for each byte some thread's lexeme can take; the step itself may still be dead.
    template <class Visit>
    void for_each_candidate(StateId s, Visit visit) {
        if (s == dead_state) return;
        if (!states_[s].map) expand(s);
        const ByteMap& map = *states_[s].map;
        for (std::uint16_t c = 0; c < map.count; ++c)
            if (targets_[states_[s].targets + c] != dead_state)
                for (std::uint16_t i = map.begin[c]; i < map.begin[c + 1]; ++i) visit(map.members[i]);
    }
    // The same, one byte of each class of bytes that lead to the same state; where texts are tracked the bytes of a class differ, and some more
    // are tried.
    template <class Visit>
    void for_each_class(StateId s, Visit visit) {
        if (s == dead_state) return;
        if (!states_[s].map) expand(s);
        const ByteMap& map = *states_[s].map;
        for (std::uint16_t c = 0; c < map.count; ++c)
            if (targets_[states_[s].targets + c] != dead_state)
                for (std::uint16_t i = map.begin[c], n = 0; i < map.begin[c + 1] && n < (states_[s].tracked ? 12 : 1); ++i, ++n) visit(map.members[i]);
    }
    bool tracked(StateId s) const { return states_[s].tracked; }
    std::span<const Item> items(StackId s) const { return stacks_[s].items; }

    const Program& program() const { return *program_; }
    const TextTrie& texts() const { return texts_; }
    ObjectFrames& object_frames() { return objects_; }
    ArrayFrames& array_frames() { return arrays_; }
    std::size_t state_count() const { return states_.size(); }
    std::size_t stack_count() const { return stacks_.size(); }
    std::size_t bytes() const;

  private:
    friend class Completion;
    struct Stack {
        std::span<const Item> items;
        std::uint32_t depth = 0;
        bool uses_keys = false;    // some object on it has used additional keys
        bool uses_values = false;  // some unique array on it has read items
        bool records = false;      // it is inside an item of a unique array
        bool waits = false;        // some budget on it has not begun
        Scarce scarce;             // see scarce_after_comma
        std::uint32_t starts = no_limit;     // the fewest tokens of a budget on it that has begun in this token
        std::uint32_t soonest = no_limit;    // the first time at which a budget on it is over
        std::uint32_t allowance = no_limit;  // tokens after which all of it is over, once it has begun
        StateId after = unknown_state;
        StateId after_unknown_key = unknown_state;
        StackId folded = unknown_state;
        std::array<StackId, 2> folded_top{unknown_state, unknown_state};  // as the one a thread goes on with; and before a comma
    };
    struct State {
        std::uint32_t first = 0, count = 0;
        bool accepting = false, token_edges = false, tracked = false;
        const ByteMap* map = nullptr;  // set when expanded
        std::uint32_t targets = 0;     // targets_[targets + class]
    };
    // Collects what becomes live at one position.
    struct Closure {
        std::vector<Thread> threads;
        bool accepting = false;
        std::uint32_t item = 0;
        std::size_t steps = 0;
        std::vector<Item> work;
        std::vector<std::uint32_t> nodes;  // of the rule that runs
        std::vector<std::pair<std::uint64_t, std::uint32_t>> seen;
        std::unordered_map<std::uint64_t, std::uint32_t> seen_many;
        struct Pending {
            std::uint32_t rank, rule;
            Item caller;
            bool more;  // in `callers`
        };
        std::vector<Pending> pending;
        std::vector<std::pair<std::uint32_t, Item>> callers;  // by rule, behind the first of each
    };
    // One of closures_, of which as many are in use as closures are being made inside each other.
    class OpenClosure {
      public:
        OpenClosure(Engine& engine, std::uint32_t item);
        ~OpenClosure() { --engine_.open_closures_; }
        OpenClosure(const OpenClosure&) = delete;
        Closure& operator*() const { return *engine_.closures_[at_]; }

      private:
        Engine& engine_;
        std::size_t at_;
    };

    // Whether `test` holds of the frame of some object with used keys that the stack is inside of; each stack is looked at once.
    template <class Test>
    bool any_object_outside(StackId root, Test test) const {
        if (!stacks_[root].uses_keys) return false;
        std::vector<StackId> todo{root};
        std::unordered_set<StackId> seen{root};
        while (!todo.empty()) {
            const StackId s = todo.back();
            todo.pop_back();
            for (const Item& i : stacks_[s].items) {
                if (i.kind() >= Resume::object_open && i.kind() <= Resume::object_next && test(i.data)) return true;
                if (stacks_[i.parent].uses_keys && seen.insert(i.parent).second) todo.push_back(i.parent);
            }
        }
        return false;
    }
    // A stack rewritten: `rewrite(id)` makes what `known(id)` gives afterwards, parents first and without recursion, as stacks may be very deep.
    template <class Known, class Rewrite>
    StackId from_outside(StackId root, Known known, Rewrite rewrite) {
        std::vector<StackId> todo;
        if (known(root) == unknown_state) todo.push_back(root);
        while (!todo.empty()) {
            const StackId id = todo.back();
            bool ready = true;
            if (known(id) == unknown_state) {
                for (const Item& i : stacks_[id].items)
                    if (i.kind() != Resume::accept && known(i.parent) == unknown_state) todo.push_back(i.parent), ready = false;
                if (!ready) continue;
                rewrite(id);
            }
            todo.pop_back();
        }
        return known(root);
    }
    // The stack of what `change` makes of the items, but for those that accept.
    template <class Change>
    StackId rewritten(StackId id, Change change) {
        const std::span<const Item> items = stacks_[id].items;
        if (items.size() == 1) return items[0].kind() == Resume::accept ? id : stack_of(change(items[0]));
        std::vector<Item> out(items.begin(), items.end());
        for (Item& i : out)
            if (i.kind() != Resume::accept) i = change(i);
        return intern_stack(std::move(out));
    }
    StackId intern_stack(std::vector<Item> items);
    StackId stack_of(const Item& item);
    StackId add_stack(std::span<const Item> items, std::uint64_t hash);
    void expand(StateId s);
    StateId compute_step(StateId s, std::uint8_t byte);
    void add_lexeme_end(std::vector<Thread>& out, bool& accepting, const Thread& thread, LexId lex, std::uint32_t text, std::uint32_t item);
    void add_state(std::vector<Thread>& out, bool& accepting, StateId s);
    struct Separators {
        bool plain = false;
        std::vector<LexId> before_comma;  // states of a comma's lexeme in which it has not been read
    };
    Separators find_separators();
    struct Unseen {
        bool known = false;
        bool behind_comma = false;  // no token that reads a comma goes on into a declared key
        bool behind_space = false;  // no token that begins with white space goes on into a declared key
        bool whole = false;         // no token that begins with a key's quote ends a declared key
    };
    const Unseen& unseen(std::uint32_t spec, const KeyTails& tails);
    std::uint32_t described(std::span<const std::uint32_t> description, bool leaves);
    std::uint32_t described(std::initializer_list<std::uint32_t> description, bool leaves) { return described(std::span(description.begin(), description.size()), leaves); }
    bool leaves(std::uint32_t what) const;
    std::uint32_t members_from(FrameId frame, const TokenView& tokens);
    std::uint32_t after_value(FrameId frame, std::uint32_t k, const TokenView& tokens);
    std::uint32_t value_from(FrameId frame, StackId parent, const TokenView& tokens);
    std::uint32_t next_members_from(FrameId frame, StackId parent, const TokenView& tokens);
    Item first_item(const Item& item, std::uint32_t what);
    std::uint32_t first_told(std::uint32_t what, std::uint32_t one);
    bool reads_keys(const Thread& t) const;
    void fold_key(Thread& t, const TokenView& tokens);
    Item fold_object_item(Item item, LexId lex, const TokenView& tokens);
    bool before_comma(LexId lex) const;
    Item fold_item(Item item, LexId lex, const TokenView& tokens);
    StackId fold_stack(StackId stack, const TokenView& tokens);
    void fold_keys(std::vector<Thread>& threads, const TokenView& tokens);
    StackId fold_top(StackId stack, LexId lex, const TokenView& tokens);
    void note_budgets(Stack& stack, std::span<const Item> items) const;
    StackId begin_budgets(StackId stack);
    struct Ending;
    StackId at_end(Ending& ending, StackId stack);
    StateId after_budgets(Ending& ending, StackId stack);
    bool inside_character(LexId lex) const;
    template <class Concerned, class Change>
    StackId rewrite_stack(StackId stack, FlatMap& known, Concerned concerned, Change change);
    static constexpr std::size_t run_limit = 256;  // bytes looked at together
    std::size_t plain_run(StateId state, std::string_view bytes);
    StateId step_run(StateId state, std::string_view run);

    bool tracked_live_inside(LexId lex, std::uint32_t text, StackId stack, std::size_t& steps);
    std::string item_text(std::uint32_t start, std::uint32_t item) const;
    bool zero_with_exponent(std::uint32_t item, std::uint32_t& power) const;
    void find_plentiful_rules();
    bool object_grows(FrameId frame);
    bool new_string_left(const Thread& thread);
    bool item_grows(StackId stack);
    bool surely_live(StateId state);
    bool explore(StateId state);
    StateId without_idle_zeros(StateId state);
    bool needs_escape(StateId state);

    StateId finish(Closure& c);
    void push(Closure& c, LexId lex, std::uint32_t text, StackId stack);
    void resume(Closure& c, const Item& item);
    void run(Closure& c, std::uint32_t node, StackId parent, bool fresh);
    void add_caller(Closure& c, std::uint32_t rule, const Item& item);
    void add_callers_of(Closure& c, std::uint32_t rule, StackId parent);
    void pop(Closure& c, StackId parent);
    void count_work(Closure& c, std::size_t items) const;
    void check_memory() const;
    bool first_visit(Closure& c, std::uint64_t key);
    void lexeme(Closure& c, LexId lex, StackId stack);
    void object_keys(Closure& c, std::uint32_t frame, StackId parent);
    void object_after(Closure& c, std::uint32_t frame, StackId parent);
    void array_item(Closure& c, std::uint32_t frame, StackId parent);
    void array_after(Closure& c, std::uint32_t frame, StackId parent);
    void insert_key_texts(std::uint32_t spec);

    std::shared_ptr<const Program> program_;
    Lexemes& lexemes_;
    EngineLimits limits_;
    TextTrie texts_;
    Conditions conditions_;
    ObjectFrames objects_;
    ArrayFrames arrays_;
    JsonValues values_;
    bool ordered_ = true;  // no object takes its declared keys in any order
    std::vector<bool> key_texts_inserted_;                      // by object spec
    std::vector<std::vector<std::uint32_t>> key_nodes_;         // by object spec: text trie nodes of its properties
    std::unordered_map<std::uint32_t, std::uint32_t> key_of_text_;  // text trie node -> key id
    std::vector<bool> declared_prefix_;                         // by text trie node

    ListArena<Item> stack_items_;
    SteadyVector<Stack> stacks_;
    IndexTable stack_table_;
    SteadyVector<State> states_;
    std::vector<Thread> threads_;
    std::vector<Thread> stepped_, folding_;  // room for a step and for folding
    std::vector<std::unique_ptr<Closure>> closures_;  // and for closures
    std::size_t open_closures_ = 0;
    std::vector<StateId> targets_;
    IndexTable state_table_;
    FlatMap tracked_steps_;  // state << 8 | byte
    FlatMap after_keys_;     // stack << 32 | key id
    FlatMap after_texts_;    // stack << 32 | text trie node + 1
    FlatMap many_words_;     // languages with too many words to list
    std::vector<bool> plentiful_rules_;        // rules with more values than can have been read; found when first asked
    std::vector<std::uint8_t> object_grows_;   // by object frame: 2 where not known yet
    FlatMap many_numbers_;   // number languages: 1 where they have too many values
    FlatMap begun_;       // stack -> stack: its budgets have begun
    FlatMap token_ends_;  // time << 32 | state -> state, where something begins or ends
    // of folding
    std::vector<StateId> folded_;                               // by state
    Separators separators_;
    std::vector<Unseen> unseen_;                                // by object spec
    ListArena<std::uint32_t> description_lists_;
    std::vector<std::span<const std::uint32_t>> descriptions_;
    std::vector<bool> leaves_;                                  // by description
    IndexTable description_table_;
    std::vector<Item> first_items_;
    FlatMap first_of_;                                          // kind << 32 | description: an item of the list, a lexeme state, a text
    FlatMap after_values_;                                      // frame << 32 | alternative: a description
    FlatMap values_from_;                                       // by stack: a description
    StateId start_ = dead_state;
    std::size_t stack_bytes_checked_ = 0;
};

}  // namespace scansion
