#include "lexeme.h"

#include <algorithm>

namespace scansion {

namespace {
using Lock = std::lock_guard<Languages::Mutex>;
Languages& languages() { return Languages::instance(); }
}  // namespace

int hex_digit(std::uint8_t b) {
    if (b >= '0' && b <= '9') return b - '0';
    if (b >= 'a' && b <= 'f') return b - 'a' + 10;
    if (b >= 'A' && b <= 'F') return b - 'A' + 10;
    return -1;
}

bool prefix_span(std::uint32_t prefix, std::uint32_t left, std::uint32_t length, CodePoint& first, CodePoint& last) {
    static constexpr CodePoint smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    first = prefix << (6 * left);
    last = first | ((1u << (6 * left)) - 1);
    first = std::max(first, smallest[length]);
    last = std::min(last, max_code_point);
    return first <= last;
}

bool whole_sequence(std::uint32_t bits, std::uint32_t left, CodePoint first, CodePoint last) {
    const CodePoint from = bits << (6 * left), to = from | ((1u << (6 * left)) - 1);
    return first == from && last == to && !(first <= surrogate_last && last >= surrogate_first);
}

// ---- states ----------------------------------------------------------------------------------------------------

Lexemes& Lexemes::instance() {
    static Lexemes* shared = new Lexemes;
    return *shared;
}

Lexemes::Lexemes() { intern(LexKey{}); }

LexId Lexemes::intern(const LexKey& key) {
    std::uint64_t h = combine(combine(static_cast<std::uint64_t>(key.mode) * 2 + key.json, key.lang), (std::uint64_t{key.value} << 32) | key.extra);
    h = combine(h, key.depth);
    std::uint32_t found = table_.find(h, [&](std::uint32_t i) { return states_[i].key == key; });
    if (found != IndexTable::none) return found;
    LexId id = static_cast<LexId>(states_.size());
    LexState& s = states_.push();
    s.key = key;
    if (key.mode == LexMode::end)
        s.accepting = true;
    else if (key.mode == LexMode::text) {
        s.accepting = languages().nullable(key.lang);
        if (languages().op(key.lang) == LangOp::automaton && languages().automaton_of(key.lang).words) {
            s.words = &languages().automaton_of(key.lang);
            s.word = languages().field_b(key.lang);
        }
    } else if (key.mode == LexMode::key_tail && key.value == keys_[key.lang].spelled.size())
        s.accepting = true, s.accepted_key = key.lang;
    table_.insert(h, id);
    return id;
}

LexId Lexemes::start(LangId language, Encoding encoding) {
    Lock lock(languages().mutex);
    if (languages().is_nothing(language)) return dead_lex;
    LexKey key;
    key.lang = language;
    key.json = encoding == Encoding::json_string;
    key.mode = key.json ? LexMode::quote : LexMode::text;
    return intern(key);
}

std::uint32_t Lexemes::intern_key(const std::string& decoded) {
    Lock lock(languages().mutex);
    if (auto it = key_ids_.find(decoded); it != key_ids_.end()) return it->second;
    std::uint32_t id = static_cast<std::uint32_t>(keys_.size());
    Key& k = keys_.push();
    k.decoded = decoded;
    k.spelled = "\"";
    for (char ch : decoded) {
        std::uint8_t b = static_cast<std::uint8_t>(ch);
        switch (b) {
            case '"': k.spelled += "\\\""; break;
            case '\\': k.spelled += "\\\\"; break;
            case '\n': k.spelled += "\\n"; break;
            case '\r': k.spelled += "\\r"; break;
            case '\t': k.spelled += "\\t"; break;
            case '\b': k.spelled += "\\b"; break;
            case '\f': k.spelled += "\\f"; break;
            default:
                if (b < 0x20) {
                    static constexpr char digits[] = "0123456789abcdef";
                    k.spelled += std::string("\\u00") + digits[b >> 4] + digits[b & 15];
                } else {
                    k.spelled += ch;
                }
        }
    }
    k.spelled += '"';
    key_ids_.emplace(decoded, id);
    return id;
}

LexId Lexemes::key_set(const std::vector<std::uint32_t>& keys) {
    if (keys.empty()) return dead_lex;
    Lock lock(languages().mutex);
    std::uint64_t h = keys.size();
    for (std::uint32_t k : keys) h = combine(h, k);
    std::uint32_t found = key_array_table_.find(h, [&](std::uint32_t i) { return key_arrays_[i] == keys; });
    if (found == IndexTable::none) {
        found = static_cast<std::uint32_t>(key_arrays_.size());
        key_arrays_.push() = keys;
        key_array_table_.insert(h, found);
    }
    return keys_state(found, 0, static_cast<std::uint32_t>(keys.size()), 0);
}

LexId Lexemes::any_spelling(const std::vector<std::uint32_t>& keys) {
    std::vector<std::vector<CodePoint>> texts;
    for (std::uint32_t k : keys) {
        auto& text = texts.emplace_back();
        const std::string& bytes = keys_[k].decoded;
        for (std::size_t i = 0; i < bytes.size();) {
            std::uint8_t lead = static_cast<std::uint8_t>(bytes[i++]);
            std::uint32_t more = lead < 0x80 ? 0 : lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
            CodePoint c = more == 0 ? lead : lead & (0x3fu >> more);
            for (; more > 0 && i < bytes.size(); --more) c = c << 6 | (static_cast<std::uint8_t>(bytes[i++]) & 0x3f);
            text.push_back(c);
        }
    }
    Lock lock(languages().mutex);
    return start(languages().literals(std::move(texts)), Encoding::json_string);
}

LexId Lexemes::keys_state(std::uint32_t array, std::uint32_t begin, std::uint32_t end, std::uint32_t depth) {
    LexKey key;
    if (end - begin == 1) {
        key.mode = LexMode::key_tail;
        key.lang = key_arrays_[array][begin];
        key.value = depth;
    } else {
        key.mode = LexMode::keys;
        key.lang = array;
        key.value = begin;
        key.extra = end;
        key.depth = depth;
    }
    return intern(key);
}

std::uint32_t Lexemes::same_byte(const KeyCursor& at) const {
    const std::uint8_t byte = key_byte(at.keys[0], at.depth);
    auto alike = [&](std::uint32_t key) { return key_byte(key, at.depth) == byte; };
    if (alike(at.keys[at.count - 1])) return at.count;
    return static_cast<std::uint32_t>(std::partition_point(at.keys, at.keys + at.count, alike) - at.keys);
}

LexId Lexemes::inside_key(LexId id, std::string_view bytes) {
    Lock lock(languages().mutex);
    const LexKey from = states_[id].key;
    KeyCursor at = cursor(id);
    for (char ch : bytes) {
        const std::uint8_t byte = static_cast<std::uint8_t>(ch);
        const std::uint32_t* end = at.keys + at.count;
        at.keys = std::partition_point(at.keys, end, [&](std::uint32_t key) { return key_byte(key, at.depth) < byte; });
        if (at.keys == end || key_byte(*at.keys, at.depth) != byte) return dead_lex;
        at.count = static_cast<std::uint32_t>(end - at.keys);
        at.count = same_byte(at);
        if (++at.depth == keys_[at.keys[0]].spelled.size()) return dead_lex;
    }
    if (from.mode == LexMode::keys) {
        const std::uint32_t begin = static_cast<std::uint32_t>(at.keys - key_arrays_[from.lang].data());
        return keys_state(from.lang, begin, begin + at.count, at.depth);
    }
    LexKey key = from;
    key.value = at.depth;
    return intern(key);
}

namespace {
const AutomatonEdge* edge_of(const Automaton& words, std::uint32_t at, char byte) {
    const auto& edges = words.edges[at];
    const CodePoint c = static_cast<std::uint8_t>(byte);
    const auto found = std::lower_bound(edges.begin(), edges.end(), c, [](const AutomatonEdge& e, CodePoint c) { return e.first < c; });
    return found == edges.end() || found->first != c ? nullptr : &*found;
}
}  // namespace

std::size_t Lexemes::word_run(LexId id, std::string_view bytes) const {
    const Automaton& words = *states_[id].words;
    std::uint32_t at = states_[id].word;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const AutomatonEdge* edge = edge_of(words, at, bytes[i]);
        if (!edge) break;
        at = edge->target;
        if (words.accepting[at]) return i;
    }
    return bytes.size();
}

LexId Lexemes::inside_word(LexId id, std::string_view bytes) {
    const Automaton& words = *states_[id].words;
    std::uint32_t at = states_[id].word;
    for (char byte : bytes) {
        const AutomatonEdge* edge = edge_of(words, at, byte);
        if (!edge) return dead_lex;
        at = edge->target;
    }
    Lock lock(languages().mutex);
    return character(false, languages().in_automaton(states_[id].key.lang, at));
}

LexId Lexemes::step_once(LexId id, std::uint8_t byte) {
    const LexKey& key = states_[id].key;
    const bool character_of_its_own = byte >= 0x20 && byte < 0x80 && (key.mode == LexMode::text || (key.mode == LexMode::body && byte != '"' && byte != '\\'));
    if (!character_of_its_own || states_[id].row.load(std::memory_order_acquire)) return step(id, byte);
    Lock lock(languages().mutex);
    return character(key.json, languages().derivative(key.lang, byte));
}

bool Lexemes::any_live(LangId language, CodePoint first, CodePoint last) {
    const DerivativeTable& table = languages().derivatives(language);
    std::size_t i = static_cast<std::size_t>(std::upper_bound(table.starts.begin(), table.starts.end(), first) - table.starts.begin()) - 1;
    for (; i < table.starts.size() && table.starts[i] <= last; ++i) {
        CodePoint begin = std::max(first, table.starts[i]);
        CodePoint end = std::min(last, i + 1 < table.starts.size() ? table.starts[i + 1] - 1 : max_code_point);
        if (begin >= 0xd800 && end <= 0xdfff) continue;
        if (!languages().is_nothing(table.targets[i])) return true;
    }
    return false;
}

LexId Lexemes::character(bool json, LangId language) {
    if (languages().is_nothing(language)) return dead_lex;
    LexKey key;
    key.mode = json ? LexMode::body : LexMode::text;
    key.json = json;
    key.lang = language;
    return intern(key);
}

// `prefix`: bits so far with a leading 1 above them telling the sequence's length is lost; so length is passed in the top bits.
LexId Lexemes::partial(bool json, LangId language, std::uint32_t prefix, std::uint32_t left) {
    std::uint32_t length = prefix >> 28, bits = prefix & 0xfffffff;
    CodePoint first, last;
    if (!prefix_span(bits, left, length, first, last)) return dead_lex;
    LexKey key;
    key.json = json;
    if (whole_sequence(bits, left, first, last)) {
        const DerivativeTable& table = languages().derivatives(language);
        std::size_t i = static_cast<std::size_t>(std::upper_bound(table.starts.begin(), table.starts.end(), first) - table.starts.begin()) - 1;
        if (i + 1 == table.starts.size() || table.starts[i + 1] > last) {
            if (languages().is_nothing(table.targets[i])) return dead_lex;
            key.mode = LexMode::uniform;
            key.lang = table.targets[i];
            key.value = left;
            return intern(key);
        }
    }
    if (!any_live(language, first, last)) return dead_lex;
    key.mode = LexMode::partial;
    key.lang = language;
    key.value = prefix;
    key.extra = left;
    return intern(key);
}

LexId Lexemes::hex(LangId language, std::uint32_t digits, std::uint32_t left) {
    LexKey key;
    key.json = true;
    if (left == 0) {
        if (digits >= 0xd800 && digits <= 0xdbff) {
            CodePoint first = 0x10000 + ((digits - 0xd800) << 10);
            if (!any_live(language, first, first + 0x3ff)) return dead_lex;
            key.mode = LexMode::low_backslash;
            key.lang = language;
            key.value = digits;
            return intern(key);
        }
        if (digits >= 0xdc00 && digits <= 0xdfff) return dead_lex;
        return character(true, languages().derivative(language, digits));
    }
    std::uint32_t first = digits << (4 * left), last = first | ((1u << (4 * left)) - 1);
    bool live = any_live(language, first, last);
    if (!live) {
        std::uint32_t high_first = std::max(first, 0xd800u), high_last = std::min(last, 0xdbffu);
        live = high_first <= high_last && any_live(language, 0x10000 + ((high_first - 0xd800) << 10), 0x10000 + ((high_last - 0xd800) << 10) + 0x3ff);
    }
    if (!live) return dead_lex;
    key.mode = LexMode::hex;
    key.lang = language;
    key.value = digits;
    key.extra = left;
    return intern(key);
}

LexId Lexemes::low_hex(LangId language, std::uint32_t high, std::uint32_t digits, std::uint32_t left) {
    std::uint32_t first = std::max(digits << (4 * left), 0xdc00u), last = std::min((digits << (4 * left)) | ((1u << (4 * left)) - 1), 0xdfffu);
    if (first > last) return dead_lex;
    CodePoint base = 0x10000 + ((high - 0xd800) << 10);
    if (left == 0) return character(true, languages().derivative(language, base + (digits - 0xdc00)));
    if (!any_live(language, base + (first - 0xdc00), base + (last - 0xdc00))) return dead_lex;
    LexKey key;
    key.json = true;
    key.mode = LexMode::low_hex;
    key.lang = language;
    key.value = high;
    key.extra = digits;
    key.depth = left;
    return intern(key);
}

std::uint32_t Lexemes::decoded(LexId id, std::uint8_t b, std::uint8_t out[4]) const {
    const LexKey& k = states_[id].key;
    CodePoint c = 0;
    switch (k.mode) {
        case LexMode::body:
            if (b == '"' || b == '\\') return 0;
            out[0] = b;
            return 1;
        case LexMode::partial:
        case LexMode::uniform:
            out[0] = b;
            return 1;
        case LexMode::escape:
            for (auto [letter, character] : short_escapes)
                if (b == static_cast<std::uint8_t>(letter)) {
                    out[0] = static_cast<std::uint8_t>(character);
                    return 1;
                }
            return 0;
        case LexMode::hex:
            c = k.value << 4 | static_cast<std::uint32_t>(hex_digit(b));
            if (k.extra != 1 || (c >= 0xd800 && c <= 0xdfff)) return 0;
            break;
        case LexMode::low_hex:
            if (k.depth != 1) return 0;
            c = 0x10000 + ((k.value - 0xd800) << 10) + ((k.extra << 4 | static_cast<std::uint32_t>(hex_digit(b))) - 0xdc00);
            break;
        default:
            return 0;
    }
    return encode_utf8(c, out);
}

void append_json_character(std::string& text, CodePoint c) {
    static constexpr char digits[] = "0123456789abcdef";
    std::uint8_t bytes[4];
    if (c < 0x20 || c == '"' || c == '\\')
        text += {'\\', 'u', '0', '0', digits[c >> 4], digits[c & 15]};
    else
        text.append(reinterpret_cast<const char*>(bytes), encode_utf8(c, bytes));
}

std::uint32_t encode_utf8(CodePoint c, std::uint8_t out[4]) {
    if (c < 0x80) {
        out[0] = static_cast<std::uint8_t>(c);
        return 1;
    }
    std::uint32_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (std::uint32_t i = n; i-- > 1; c >>= 6) out[i] = static_cast<std::uint8_t>(0x80 | (c & 0x3f));
    out[0] = static_cast<std::uint8_t>((0xf00 >> n & 0xf0) | c);
    return n;
}

}  // namespace scansion
