// Token bytes, and per lexeme state what the vocabulary makes of it: slices, shared by all grammars.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "key_tails.h"
#include "lexeme.h"
#include "patient.h"
#include "trie.h"

namespace scansion {

// Of the tokens below a trie node, seen from a lexeme state there: those that stay inside the lexeme, and the rest of those that leave it.
struct Slice {
    std::vector<std::uint32_t> stay;         // token ids; empty where `bits` is used
    std::vector<std::uint32_t> bits;         // a whole bitset, for slices of more than `dense_limit` tokens
    std::vector<std::uint32_t> exits;        // trie nodes where the lexeme may end and whose subtrees are too large to copy
    std::vector<std::uint32_t> digit_exits;  // the same with nothing but digits below, as behind a number: what follows there hardly begins with one
    std::shared_ptr<const Trie> remainders;  // merged subtries of the other exits; counted for every slice that has them
    struct End {
        std::uint32_t node, depth;           // depth below the slice's node
        std::uint32_t characters;            // decoded, before the closing quote
    };
    using Ends = std::vector<End>;
    std::shared_ptr<const Ends> ends = no_ends();  // JSON strings: every node where the string is closed, ascending
    std::uint32_t fewest = 0, most = 0;      // characters of an end, where they are measured
    // Of a measured slice, from which those of bounded strings are derived: tokens that stay inside the string, by the fewest characters a
    // string has that begins with the token. Ascending.
    std::vector<std::pair<std::uint32_t, std::uint32_t>> by_length;  // characters, id
    std::uint32_t measured_from = 0;  // tokens of fewer characters are not in it
    bool may_leave() const { return remainders->size() > 1 || !exits.empty() || !digit_exits.empty(); }  // some token goes on behind the lexeme
    const std::uint64_t serial = next_serial();  // no other slice of the process has it
    std::size_t bytes() const {
        return by_length.capacity() * 8 + stay.capacity() * 4 + bits.capacity() * 4 + (exits.capacity() + digit_exits.capacity()) * 4 + ends->capacity() * sizeof(End) + sizeof(Slice) +
               (remainders ? remainders->bytes() : 0);
    }

  private:
    static const std::shared_ptr<const Ends>& no_ends() {
        static const auto* none = new std::shared_ptr<const Ends>(std::make_shared<Ends>());
        return *none;
    }
    static std::uint64_t next_serial() {
        static std::atomic<std::uint64_t> last{0};
        return ++last;
    }
};

// Of a state whose language has a counter (Languages::counter): how often a token makes it go round, at most.
struct Rounds {
    static constexpr std::uint32_t unknown = 0xffffffffu;
    static constexpr std::size_t limit = 4096;
    using List = std::vector<std::pair<std::uint32_t, std::uint32_t>>;  // rounds and what makes them, where they are more than one; the most first
    LangId body;
    std::uint32_t from;  // of the state where they were counted: farther off than any token goes
    List tokens, ends;   // ids; indices into the slice's ends
    bool too_many = false;
    void add(List& list, std::uint32_t rounds, std::uint32_t what) {
        if (rounds < 2) return;
        if (list.size() < limit)
            list.emplace_back(rounds, what);
        else
            too_many = true;
    }
};

// What the walk of a slice may be asked for besides.
struct Wanted {
    std::uint32_t* far = nullptr;  // characters at most that a string still needs after any token
    Rounds* rounds = nullptr;
};

class Vocabulary {
  public:
    static constexpr std::size_t dense_limit = 2048;      // tokens in a slice kept as a list
    static constexpr std::size_t base_limit = 512;        // the same at the root, where masks can begin as a copy of the slice
    static constexpr std::size_t exit_limit = 2048;       // nodes of a subtree worth copying into `remainders`
    static constexpr std::size_t slice_budget = 96u << 20;  // bytes; least recently used slices go first
    static constexpr std::size_t whole_budget = 8u << 20;   // bytes of masks, and of slices joined, kept to be shared; all of a kind are let go when it is met

    // `tokens[i]`: bytes, or nullopt for ids that are never text.
    Vocabulary(std::vector<std::optional<std::string>> tokens, std::vector<std::uint32_t> eos, std::vector<std::uint32_t> special);

    std::uint32_t size() const { return static_cast<std::uint32_t>(tokens_.size()); }
    std::uint32_t words() const { return (size() + 31) / 32; }
    const Trie& trie() const { return trie_; }
    const std::vector<std::uint32_t>& eos() const { return eos_; }
    bool is_eos(std::uint32_t id) const { return id < size() && kind_[id] == Kind::eos; }
    // The bytes of a text token; nullopt for special, end and unused ids.
    const std::optional<std::string>& text(std::uint32_t id) const { return tokens_[id]; }
    std::uint32_t longest_token() const { return longest_; }
    // Children by byte (0: none) of nodes with many of them; null for other nodes.
    const std::array<std::uint32_t, 256>* wide(std::uint32_t node) const {
        auto it = wide_.find(node);
        return it == FlatMap::none ? nullptr : &wide_children_[it];
    }
    // Bytes from the root to a node.
    std::uint32_t depth(std::uint32_t node) const;
    Seen seen(std::string_view text) const;

    static constexpr std::size_t slice_nodes = 48;  // smaller subtrees are walked, not looked up
    std::shared_ptr<const Slice> slice(std::uint32_t node, LexId lex);
    const KeyTails& key_tails() const { return key_tails_; }
    // Whether some token goes on from the node with `rest` and a closing quote, read from a string's state of that mode: before its opening quote
    // or inside it. Of other modes nothing is known.
    class Closed {
      public:
        bool operator()(std::string_view rest) const { return !texts_ || (rest.size() <= texts_->longest && texts_->texts.contains(rest)); }

      private:
        friend class Vocabulary;
        struct Hash {
            using is_transparent = void;
            std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
        };
        struct Texts {
            std::unordered_set<std::string, Hash, std::equal_to<>> texts;
            std::size_t longest = 0;
        };
        explicit Closed(const Texts* texts) : texts_(texts) {}
        const Texts* texts_;
    };
    Closed may_close(std::uint32_t node, LexMode mode);
    // Looks up what tokens do in a JSON string of the language, with this text inside, before anybody asks.
    void rehearse_string(LangId language, std::string_view text);
    // A state whose slice at the root is this one's.
    LexId shared_state(LexId lex);
    // The tokens of both, as bits, for masks that begin with them; both have bits.
    std::shared_ptr<const Slice> joined(const Slice& one, const Slice& other);
    // One copy of a mask that many states and grammars have, of words() words.
    using Bits = std::shared_ptr<const std::vector<std::uint32_t>>;
    Bits whole(const std::uint32_t* bits);  // words() words
    // A buffer for a mask, from those that are used no more.
    std::vector<std::uint32_t> take_buffer();
    void give_back(std::vector<std::uint32_t> buffer);
    std::size_t slice_bytes() {
        std::lock_guard lock(mutex_);
        return slice_bytes_ + remainder_bytes_ + (wholes_.size() + joined_.size()) * words() * 4;
    }
    std::size_t slice_count() {
        std::lock_guard lock(mutex_);
        return slices_.size();
    }

  private:
    enum class Kind : std::uint8_t { text, special, eos, none };
    static constexpr std::uint32_t wide_limit = 24;
    static constexpr std::uint32_t measured = 0xffffff00u;  // in place of a node in `slices_`: the root's slice, measured (from how many characters on)
    std::shared_ptr<const Slice> cached(std::uint64_t key);
    std::shared_ptr<const Slice> keep(std::uint64_t key, std::shared_ptr<const Slice> built);
    // Lengths from `from` characters on.
    std::shared_ptr<const Slice> measured_slice(LexId free, std::uint32_t from);
    static constexpr std::uint32_t no_measure = 0xffffffffu;
    static constexpr std::uint32_t near_length = 12;  // strings bounded closer have all lengths measured
    // `from`: of a JSON string's state at the root, measure tokens of so many characters.
    std::unique_ptr<Slice> build_slice(std::uint32_t node, LexId lex, std::uint32_t from, Wanted wanted = {});
    std::unique_ptr<Slice> bounded_slice(const Slice& free, std::uint32_t low, std::uint32_t high);
    // What a state's slice lacks of another's.
    struct Difference {
        LexId base = dead_lex;
        std::vector<std::uint32_t> tokens, ends;  // ids of those that stay in; nodes where the string would be closed
        bool operator==(const Difference&) const = default;
    };
    static constexpr std::size_t difference_budget = 8u << 20;  // bytes
    std::optional<Difference> compare(LexId lex, bool counting = true);
    std::shared_ptr<const Rounds> rounds(LexId base, LangId body);
    std::optional<Difference> known_difference(LexId lex);
    LexId find_shared_state(LexId lex);
    void rehearse_below(std::uint32_t node, LexId lex);
    std::uint32_t farthest(LexId lex);
    void find_long_tokens();
    std::unique_ptr<Slice> lacking(const Slice& base, Difference difference);
    // Tokens that do not stay in, by their places in the trie's order.
    struct Gaps {
        std::vector<std::pair<std::uint32_t, std::uint32_t>> runs;
        std::size_t count = 0;
        void add(std::uint32_t first, std::uint32_t last);
    };
    void keep_stay(Slice& slice, std::uint32_t begin, std::uint32_t end, const Gaps& gaps, std::size_t limit) const;
    void keep_exits(Slice& slice, const std::vector<std::uint32_t>& nodes);
    // Strings end in the same places whatever they hold.
    std::shared_ptr<const Trie> remainders_below(std::vector<std::uint32_t> nodes);

    std::vector<std::optional<std::string>> tokens_;
    std::vector<Kind> kind_;
    std::vector<std::uint32_t> eos_;
    Trie trie_;
    std::vector<std::uint32_t> all_text_;      // the bitset of all tokens in the trie
    std::vector<Branch> branches_;             // in the order of the trie's child_nodes
    std::vector<std::uint16_t> characters_;    // by id: UTF-8 sequences begun in the token
    std::vector<std::uint32_t> most_below_;    // by trie node: bytes of the longest way down
    FlatMap wide_;
    std::vector<std::array<std::uint32_t, 256>> wide_children_;
    // Texts side by side, in the trie's order.
    struct Spelled {
        std::uint32_t id, text;  // of a token, or of a node of the trie; where the text begins in `spelled_`
        std::uint32_t bytes, characters;
    };
    std::string_view text_of(const Spelled& s) const { return std::string_view(spelled_).substr(s.text, s.bytes); }
    std::string spelled_;
    static constexpr std::size_t long_limit = 2048;
    std::vector<Spelled> long_tokens_;         // those of most characters
    std::vector<Spelled> string_ends_;         // nodes where a string of any text is closed, with the quote
    std::uint32_t most_short_ = 0;             // characters of a token that is not among them, at most
    std::uint32_t longest_ = 0;
    KeyTails key_tails_;

    FlatMap closed_of_;
    std::deque<Closed::Texts> closed_;  // by node and mode
    struct Cached {
        std::uint64_t key, used;  // `used`: when, in looks at the cache
        std::shared_ptr<const Slice> slice;
    };
    void drop_oldest();
    Patient<std::mutex> mutex_;
    std::vector<Cached> slices_;
    FlatMap slice_of_;  // by key: its place in slices_
    std::uint64_t looks_ = 0;
    std::size_t slice_bytes_ = 0;
    static constexpr std::size_t buffer_limit = 16;
    std::vector<std::vector<std::uint32_t>> buffers_;
    std::vector<Bits> wholes_;
    IndexTable whole_table_;
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::shared_ptr<const Slice>> joined_;  // by the serials of two slices
    struct Remainders {
        std::vector<std::uint32_t> nodes;
        std::shared_ptr<const Trie> trie;
    };
    static constexpr std::size_t remainder_budget = 4u << 20;  // bytes; all are let go when it is met
    std::vector<Remainders> remainders_;
    IndexTable remainder_table_;
    std::size_t remainder_bytes_ = 0;
    FlatMap shared_, farthest_;  // by lexeme state
    static constexpr std::size_t rounds_limit = 64;  // states whose rounds are kept; all are let go when it is met
    std::map<std::pair<LexId, LangId>, std::shared_ptr<const Rounds>> rounds_;
    std::vector<std::pair<LexId, Difference>> differences_;
    IndexTable difference_table_;
    FlatMap difference_of_;
    std::size_t difference_bytes_ = 0;
};

}  // namespace scansion
