// Lexeme states: a decoder (UTF-8, JSON string escapes) over a derivative, with all 256 byte transitions computed together.
//
// Shared by all grammars of the process. A row is published once, by an atomic pointer, and never changes, so stepping needs no lock.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arena.h"
#include "language.h"

namespace scansion {

using LexId = std::uint32_t;
constexpr LexId dead_lex = 0;

enum class Encoding : std::uint8_t { text = 0, json_string = 1 };

// A partition of the byte values: cls[b] is the class of byte b. Interned.
struct ByteMap {
    std::array<std::uint8_t, 256> cls;
    std::array<std::uint8_t, 256> representative;  // the least byte of each class
    std::array<std::uint8_t, 256> members;         // all bytes, class by class: class c is members[begin[c], begin[c + 1])
    std::vector<std::uint16_t> begin;
    std::uint16_t count = 0;
    std::uint32_t id = 0;
};

class ByteMaps {
  public:
    const ByteMap* intern(const std::array<std::uint8_t, 256>& cls, std::uint16_t count);
    static constexpr std::size_t few_limit = 7;
    const ByteMap* few(std::span<const std::uint8_t> bytes);  // ascending, few_limit at most, not 0: each a class of its own, from 1 on
    const ByteMap* join(const ByteMap* a, const ByteMap* b);  // the coarsest common refinement

  private:
    std::vector<std::unique_ptr<ByteMap>> maps_;
    IndexTable table_;
    std::unordered_map<std::uint64_t, const ByteMap*> joins_;
    FlatMap few_;  // by the bytes: the map's id
};

struct LexRow {
    const ByteMap* map;
    std::uint16_t live_bytes;  // how many bytes lead on
    std::uint64_t live[4];     // which ones
    std::vector<LexId> targets;  // by class; dead_lex where nothing follows
    LexId step(std::uint8_t byte) const { return targets[map->cls[byte]]; }
};

enum class LexMode : std::uint8_t {
    dead,
    text,           // between characters of a TEXT lexeme
    quote,          // before the opening quote of a JSON_STRING
    body,           // inside it, between characters
    partial,        // inside a UTF-8 sequence: value = characters so far << 2 | bytes left, json flag in `json`
    uniform,        // the same where every completion leads to `lang`: value = bytes left
    escape,         // after a backslash
    hex,            // after \u: value = digits so far << 3 | digits left
    low_backslash,  // after a high surrogate escape: value = high surrogate
    low_u,
    low_hex,        // value = (high << 16 | digits so far) and digits left: high-0xd800 << 15 | digits << 3 | left
    end,            // a JSON string is closed
    keys,           // inside a set of canonical keys: lang = key array, value = begin, extra = end, depth
    key_tail,       // one key left: lang = key, value = depth
};

struct LexKey {
    LexMode mode = LexMode::dead;
    bool json = false;
    LangId lang = 0;
    std::uint32_t value = 0;
    std::uint32_t extra = 0;
    std::uint32_t depth = 0;
    bool operator==(const LexKey&) const = default;
};

constexpr std::uint32_t no_key = 0xffffffffu;

struct LexState {
    LexKey key;
    bool accepting = false;
    std::uint32_t accepted_key = no_key;  // which canonical key has just been completed
    std::atomic<const LexRow*> row{nullptr};
    const Automaton* words = nullptr;  // of what is a list of words, between two characters: the list, and the place in it
    std::uint32_t word = 0;
    std::uint32_t min_bytes = 0xfffffffeu;  // to acceptance; 0xfffffffe: not computed. Under the mutex.
};

// A place inside a set of canonical keys: those that may still be meant, ascending by spelling, alike in their first `depth` bytes.
struct KeyCursor {
    const std::uint32_t* keys = nullptr;
    std::uint32_t count = 0, depth = 0;
};

// Characters a UTF-8 prefix can become: `prefix` holds the bits so far, `left` continuation bytes of `length` are missing.
bool prefix_span(std::uint32_t prefix, std::uint32_t left, std::uint32_t length, CodePoint& first, CodePoint& last);
// Whether all bytes may follow that the encoding's form allows: [first, last] is what `prefix_span` says of `bits`.
bool whole_sequence(std::uint32_t bits, std::uint32_t left, CodePoint first, CodePoint last);
int hex_digit(std::uint8_t byte);  // -1: it is none
// Escapes of JSON other than \u, as (letter, character).
constexpr std::pair<char, char> short_escapes[] = {{'"', '"'}, {'\\', '\\'}, {'/', '/'}, {'b', '\b'}, {'f', '\f'}, {'n', '\n'}, {'r', '\r'}, {'t', '\t'}};
std::uint32_t encode_utf8(CodePoint c, std::uint8_t out[4]);  // number of bytes
void append_json_character(std::string& text, CodePoint c);   // as inside a JSON string

class Lexemes {
  public:
    static Lexemes& instance();

    LexId start(LangId language, Encoding encoding);
    LexId key_set(const std::vector<std::uint32_t>& keys);       // interned key ids (see intern_key), ascending by spelling
    LexId any_spelling(const std::vector<std::uint32_t>& keys);  // the same keys, each character spelled in any legal way
    std::uint32_t intern_key(const std::string& decoded_utf8);   // its canonical spelling is json.dumps(key, ensure_ascii=False)
    const std::string& key_text(std::uint32_t key) const { return keys_[key].decoded; }
    const std::string& key_spelling(std::uint32_t key) const { return keys_[key].spelled; }
    // States inside canonical keys; what follows needs no row of theirs.
    bool in_keys(LexId id) const { return states_[id].key.mode == LexMode::keys || states_[id].key.mode == LexMode::key_tail; }
    KeyCursor cursor(LexId id) const {
        const LexKey& k = states_[id].key;
        if (k.mode == LexMode::key_tail) return {&k.lang, 1, k.value};
        return {key_arrays_[k.lang].data() + k.value, k.extra - k.value, k.depth};
    }
    std::uint8_t key_byte(std::uint32_t key, std::uint32_t depth) const { return static_cast<std::uint8_t>(keys_[key].spelled[depth]); }
    // How many keys from the first on go on with the same byte.
    std::uint32_t same_byte(const KeyCursor& at) const;
    // The state after `bytes`, which close no key; dead_lex where no key goes on so.
    LexId inside_key(LexId id, std::string_view bytes);
    // The same in a list of words, for ASCII that ends none.
    LexId inside_word(LexId id, std::string_view bytes);
    // How many of the bytes, which are ASCII, end no word.
    std::size_t word_run(LexId id, std::string_view bytes) const;

    const LexState& operator[](LexId id) const { return states_[id]; }
    const LexRow& row(LexId id) {
        const LexRow* row = states_[id].row.load(std::memory_order_acquire);
        return row ? *row : build_row(id);
    }
    LexId step(LexId id, std::uint8_t byte) { return row(id).step(byte); }
    // The same where no other byte is of interest: without a row, if there is none yet.
    LexId step_once(LexId id, std::uint8_t byte);
    bool goes_on(LexId id) { return in_keys(id) ? !states_[id].accepting : row(id).live_bytes != 0; }  // some byte leads on
    bool accepting(LexId id) const { return states_[id].accepting; }
    // White space and a value's opening quote: what nearly every grammar has.
    bool common(LexId id) { return states_[id].key.mode == LexMode::quote || spaced(id); }
    // Worth a slice of the vocabulary; states inside key sets belong to one object and are walked.
    bool dense(LexId id) {
        if (in_keys(id)) return false;
        return row(id).live_bytes >= 8 || spaced(id);
    }
    // Kinds of bytes (trie.h) that lead from the state back to itself.
    std::uint64_t looping_kinds(LexId id);
    // UTF-8 of what `byte` adds to the decoded value of a JSON string in state `id`; returns the number of bytes in `out` (0..4).
    std::uint32_t decoded(LexId id, std::uint8_t byte, std::uint8_t out[4]) const;
    std::uint32_t min_bytes(LexId id);  // bytes to the nearest accepting state
    // The same state with length bounds past `longest` characters folded into one (mask keys).
    LexId fold_lengths(LexId id, std::uint32_t longest);
    // Inside a JSON string of bounded length: the same state without the bounds (Languages::split_bounds); else the state itself.
    LexId without_bounds(LexId id, std::uint32_t& low, std::uint32_t& high);
    // The same place of the decoder, in another language.
    LexId in_language(LexId id, LangId language);
    // Characters that must still be begun before a JSON string may be closed.
    std::uint32_t min_characters(LexId id);
    // How often at most the counter `body` has gone round since it had `from` to go: in a character that has been begun it may once more. nullopt where
    // the language has another counter, or none.
    std::optional<std::uint32_t> rounds(LexId id, LangId body, std::uint32_t from);
    LangId remaining_language(LexId id) const { return states_[id].key.lang; }
    std::size_t size() const { return states_.size(); }

    ByteMaps maps;  // under Languages::mutex

  private:
    bool spaced(LexId id) { return states_[id].key.mode == LexMode::text && row(id).step(' ') == id; }
    Lexemes();
    struct Key {
        std::string decoded, spelled;
    };
    LexId intern(const LexKey& key);
    const LexRow& build_row(LexId id);
    const LexRow* build_few(LexId id);
    const LexRow& few_steps(LexId id, std::span<const std::pair<std::uint8_t, LexId>> steps);  // ascending
    const LexRow& publish(LexId id, std::unique_ptr<LexRow> row);
    LexId string_end();  // behind the closing quote
    LexId character(bool json, LangId language);               // the state between characters
    LexId partial(bool json, LangId language, std::uint32_t prefix, std::uint32_t left);
    LexId hex(LangId language, std::uint32_t digits, std::uint32_t left);
    LexId low_hex(LangId language, std::uint32_t high, std::uint32_t digits, std::uint32_t left);
    std::uint32_t along_a_word(LexId id);
    bool any_live(LangId language, CodePoint first, CodePoint last);
    LexId keys_state(std::uint32_t array, std::uint32_t begin, std::uint32_t end, std::uint32_t depth);

    StableVector<LexState> states_;
    IndexTable table_;
    StableVector<Key> keys_;
    std::unordered_map<std::string, std::uint32_t> key_ids_;
    StableVector<std::vector<std::uint32_t>> key_arrays_;
    IndexTable key_array_table_;
};

}  // namespace scansion
