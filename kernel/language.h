// Regular languages over Unicode scalar values: hash-consed expressions and their derivative automata.
//
// Brzozowski derivatives with the similarity rules of Owens, Reppy and Turon, "Regular-expression derivatives
// re-examined" (2009). A derivative table maps intervals of code points to derivatives and is composed from the tables of the parts,
// so a class of 700 ranges costs 700 merges, not 700 rewritings. Counted repetition is a node, never expanded.
#pragma once
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "arena.h"
#include "patient.h"

namespace scansion {

using LangId = std::uint32_t;
using CodePoint = std::uint32_t;

struct Range {
    CodePoint first, last;
    bool operator==(const Range&) const = default;
};
using RangeSet = std::vector<Range>;  // ascending, disjoint, not adjacent

constexpr std::uint32_t unbounded = 0xffffffffu;
constexpr CodePoint max_code_point = 0x10ffff;
constexpr CodePoint surrogate_first = 0xd800, surrogate_last = 0xdfff;

// Lengths: sums that stay `unbounded` once they are.
constexpr std::uint32_t length_not_computed = unbounded - 1;
inline std::uint32_t saturating_add(std::uint64_t a, std::uint64_t b) {
    if (a == unbounded || b == unbounded) return unbounded;
    std::uint64_t sum = a + b;
    return sum >= length_not_computed ? unbounded : static_cast<std::uint32_t>(sum);
}

enum class LangOp : std::uint8_t { nothing, empty, char_class, concat, union_, intersection, complement, repeat, automaton };

// Derivatives by interval: code points in [starts[i], starts[i+1]) lead to targets[i]; starts[0] is 0.
struct DerivativeTable {
    std::vector<CodePoint> starts;
    std::vector<LangId> targets;
    LangId at(CodePoint c) const;
};

struct AutomatonEdge {
    CodePoint first, last;
    std::uint32_t target;
    bool operator==(const AutomatonEdge&) const = default;
};
struct Automaton {
    std::vector<std::vector<AutomatonEdge>> edges;
    std::vector<bool> accepting;
    std::vector<std::uint32_t> min_length;  // `unbounded`: no accepting state is reachable
    bool words = false;  // it spells a list of words none of which begins another: single characters lead on, always to later states
};

// Lengths of a language's words: `accepts[i]` for i < accepts.size(), then periodic with `period` from `periodic_from`.
struct LengthSet {
    std::vector<bool> accepts;
    std::size_t periodic_from = 0;
    std::size_t period = 0;  // 0: no word is longer than accepts.size() - 1
    bool any_in(std::uint64_t low, std::uint64_t high) const;
};

class Languages {
  public:
    static Languages& instance();
    using Mutex = Patient<std::recursive_mutex>;
    Mutex mutex;  // taken by the callers of the members below; no Python runs under it

    static constexpr LangId nothing = 0, empty = 1, anything = 2, any_char = 3;

    LangId char_class(RangeSet ranges);
    LangId literal(const std::vector<CodePoint>& text);
    LangId literals(std::vector<std::vector<CodePoint>> texts);
    LangId automaton(Automaton automaton, std::uint32_t start);
    LangId concat(LangId a, LangId b);
    LangId concat(const std::vector<LangId>& parts);
    LangId union_(std::vector<LangId> parts);
    LangId intersection(std::vector<LangId> parts);
    LangId complement(LangId a);
    LangId repeat(LangId body, std::uint32_t low, std::uint32_t high);

    bool nullable(LangId a) const { return nodes_[a].nullable; }
    const DerivativeTable& derivatives(LangId a);
    LangId derivative(LangId a, CodePoint c) { return derivatives(a).at(c); }
    bool is_nothing(LangId a);                // exact; LimitExceeded("language_states")
    std::uint32_t min_length(LangId a);       // `unbounded` for the empty set
    std::optional<std::uint32_t> max_length(LangId a);  // nullopt: unbounded; empty set: 0
    std::uint64_t count(LangId a, std::uint64_t limit);
    std::optional<std::vector<std::vector<CodePoint>>> words(LangId a, std::size_t limit);
    std::optional<std::vector<CodePoint>> shortest(LangId a);
    bool matches(LangId a, const std::vector<CodePoint>& text);

    // `any_char{low,high}` exactly (anything is {0,unbounded}), as strings bounded in length are.
    bool is_length_only(LangId a, std::uint32_t& low, std::uint32_t& high) const;

    // `class{low,high}` for one character class (which is returned), bounds included.
    bool is_class_repeat(LangId a, LangId& char_class, std::uint32_t& low, std::uint32_t& high) const;
    // Takes `a` apart into a language without bound and how many characters of it are allowed, where exactly the words of `rest` with `low` to
    // `high` characters are `a`, and either `low` is 0 or `rest` is `class*`.
    bool split_bounds(LangId a, LangId& rest, std::uint32_t& low, std::uint32_t& high);
    // Every text that can still be finished can be finished in endlessly many ways (false where that takes too long to see).
    bool is_endless(LangId a);
    // All characters of the range lead back to `a` itself.
    bool loops_on(LangId a, CodePoint first, CodePoint last);

    // `a` with every repetition that takes at least `least` characters to its bound taken as unbounded. The same words up to `within` characters are in both languages, and where it
    // is not `mixed` (nothing under a complement changed) all words of `a` are in `to`.
    struct Folded {
        LangId to;
        std::uint32_t within;
        bool mixed;
    };
    Folded fold_counts(LangId a, std::uint32_t least);
    // The same where no text of `longest` characters can tell the two apart; else `a`.
    LangId fold_far_counts(LangId a, std::uint32_t longest);
    // The one repetition `body{0,high}` that counts more than characters, where everything else that repeats is not bounded or counts characters:
    // a union of chains of concatenations, in which it may stand several times.
    struct Counter {
        LangId body;
        std::uint32_t high;
        bool operator==(const Counter&) const = default;
    };
    std::optional<Counter> counter(LangId a);
    // `a`, of a counter with this body, with another bound of it.
    LangId set_counter(LangId a, LangId body, std::uint32_t high);
    // Where every text is the beginning of a word: how many characters at most a word then still needs. nullopt also where that is not seen quickly.
    std::optional<std::uint32_t> any_prefix(LangId a);
    // More than 256 words are at most `more` characters longer than the shortest.
    bool has_many_words(LangId a, std::uint32_t more);
    // However it begins, within `longest` characters a word can be finished in many ways.
    bool is_plentiful(LangId a, std::uint32_t longest);

    // Structure, for serialisation and for converters to other grammar languages.
    LangOp op(LangId a) const { return nodes_[a].op; }
    const RangeSet& class_ranges(LangId a) const { return classes_[nodes_[a].a]; }
    const Automaton& automaton_of(LangId a) const { return automata_[nodes_[a].a]; }  // stays where it is, and never changes
    // The language of another state of the automaton that `a` is of.
    LangId in_automaton(LangId a, std::uint32_t state) { return automaton_state(nodes_[a].a, state); }
    std::uint32_t field_b(LangId a) const { return nodes_[a].b; }
    std::uint32_t field_c(LangId a) const { return nodes_[a].c; }
    std::vector<LangId> children(LangId a) const;
    std::size_t size() const { return nodes_.size(); }

    static constexpr std::size_t state_limit = 20000;
    static constexpr std::size_t part_limit = 16'000'000;  // alternatives of all states of one search
    static constexpr std::size_t width_limit = 50000;
    static constexpr std::size_t word_limit = 1000000;  // characters of a shortest word
    static constexpr std::size_t product_limit = 96;    // states of an automaton that stands for an intersection of two
    static constexpr std::uint32_t far_count = 24;      // characters of repetitions that no ordinary token makes

  private:
    Languages();
    enum class Live : std::uint8_t { unknown, live, dead };
    struct Node {
        LangOp op = LangOp::nothing;
        bool nullable = false;
        bool plain = true;  // no intersection or complement inside: never empty unless `nothing`
        Live live = Live::unknown;
        Live endless = Live::unknown;  // live: endless
        std::uint32_t a = 0, b = 0, c = 0;  // see make_*; union_/intersection: children_[a .. a+b)
        std::uint32_t min_length = length_not_computed;
        std::unique_ptr<DerivativeTable> table;
        std::unique_ptr<LengthSet> lengths;
    };
    LangId intern(LangOp op, std::uint32_t a, std::uint32_t b, std::uint32_t c, bool nullable, bool plain);
    LangId automaton_state(std::uint32_t automaton, std::uint32_t state);
    void multiply_automata(std::vector<LangId>& parts);
    std::optional<LangId> product(LangId a, LangId b);
    LangId intern_list(LangOp op, const std::vector<LangId>& parts);
    std::uint32_t class_id(RangeSet ranges);
    std::unique_ptr<DerivativeTable> compute_table(LangId a);
    std::size_t count_parts(LangId a) const;
    bool find_live(LangId a);
    std::uint32_t search_min_length(LangId a);
    const LengthSet& lengths(LangId a);
    std::optional<std::uint32_t> length_near(LangId a, std::uint32_t low, std::uint32_t high);
    bool has_words_of_at_least(LangId a, std::uint32_t low);
    Folded fold_parts(LangId a, std::uint32_t least);
    bool look_for_counter(LangId a, bool inside, std::size_t& nodes, std::optional<Counter>& found);
    std::uint32_t farthest_state(LangId a);
    std::optional<std::vector<LangId>> reachable(LangId a, std::size_t most);
    std::optional<std::uint32_t> any_prefix_by_states(LangId a);
    // Splits an intersection into what is not `any_char{low,high}` and those bounds; false where there are none.
    bool split_length(LangId a, LangId& rest, std::uint32_t& low, std::uint32_t& high);

    StableVector<Node> nodes_;
    std::vector<LangId> children_;
    IndexTable node_table_;
    std::vector<RangeSet> classes_;
    IndexTable class_table_;
    std::deque<Automaton> automata_;
    std::unordered_multimap<std::uint64_t, std::uint32_t> automaton_hashes_;
    FlatMap products_;                              // of two automata's states, by a << 32 | b
    FlatMap large_products_;                        // automata whose product is too large, likewise
    FlatMap any_prefix_;                            // by language: 0, or what is needed + 1
    std::vector<std::uint32_t> reached_in_;         // by language: the last search that came there
    std::uint32_t searches_ = 0;
    FlatMap farthest_state_;                        // by language: characters + 1, so that 0 is `unbounded`
    FlatMap counters_;                              // by language: 0, or index into counters_found_ + 1
    std::vector<Counter> counters_found_;
    FlatMap folded_table_, far_folded_, plentiful_;  // by language << 32 | least or longest
    std::vector<Folded> folded_;
};

RangeSet normalise(RangeSet ranges);
RangeSet union_ranges(const RangeSet& a, const RangeSet& b);
RangeSet intersect_ranges(const RangeSet& a, const RangeSet& b);

}  // namespace scansion
