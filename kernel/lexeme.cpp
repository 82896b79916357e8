#include "lexeme.h"

#include "trie.h"

#include <algorithm>
#include <iterator>
#include <queue>

namespace scansion {

namespace {
using Lock = std::lock_guard<Languages::Mutex>;
Languages& languages() { return Languages::instance(); }

int hex_digit(std::uint8_t b) {
    if (b >= '0' && b <= '9') return b - '0';
    if (b >= 'a' && b <= 'f') return b - 'a' + 10;
    if (b >= 'A' && b <= 'F') return b - 'A' + 10;
    return -1;
}

// Whether all bytes may follow that the encoding's form allows: [first, last] is what `prefix_span` says.
bool whole_sequence(std::uint32_t bits, std::uint32_t left, CodePoint first, CodePoint last) {
    const CodePoint from = bits << (6 * left), to = from | ((1u << (6 * left)) - 1);
    return first == from && last == to && !(first <= surrogate_last && last >= surrogate_first);
}
constexpr std::size_t no_range = ~std::size_t{0};

// Escapes of JSON other than \u, as (letter, character).
constexpr std::pair<char, char> short_escapes[] = {{'"', '"'}, {'\\', '\\'}, {'/', '/'}, {'b', '\b'}, {'f', '\f'}, {'n', '\n'}, {'r', '\r'}, {'t', '\t'}};
}  // namespace

bool prefix_span(std::uint32_t prefix, std::uint32_t left, std::uint32_t length, CodePoint& first, CodePoint& last) {
    static constexpr CodePoint smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    first = prefix << (6 * left);
    last = first | ((1u << (6 * left)) - 1);
    first = std::max(first, smallest[length]);
    last = std::min(last, max_code_point);
    return first <= last;
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
    else if (key.mode == LexMode::text)
        s.accepting = languages().nullable(key.lang);
    else if (key.mode == LexMode::key_tail && key.value == keys_[key.lang].spelled.size())
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

// Few bytes lead on, each to a state of its own.
const LexRow& Lexemes::publish(LexId id, std::span<const std::pair<std::uint8_t, LexId>> steps) {
    std::array<std::uint8_t, ByteMaps::few_limit> bytes;
    auto row = std::make_unique<LexRow>(LexRow{nullptr, static_cast<std::uint16_t>(steps.size()), {0, 0, 0, 0}, std::vector<LexId>(steps.size() + 1, dead_lex)});
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const std::uint8_t byte = bytes[i] = steps[i].first;
        row->live[byte / 64] |= std::uint64_t{1} << (byte % 64);
        row->targets[i + 1] = steps[i].second;
    }
    row->map = maps.few({bytes.data(), steps.size()});
    const LexRow* published = row.release();  // as long-lived as the states
    states_[id].row.store(published, std::memory_order_release);
    return *published;
}

// The row inside a string where few single characters of ASCII may come, as in a list of words; else nothing.
const LexRow* Lexemes::build_few(LexId id) {
    LexKey key = states_[id].key;
    const DerivativeTable& table = languages().derivatives(key.lang);
    std::array<std::pair<std::uint8_t, LexId>, ByteMaps::few_limit> steps;
    std::size_t count = 0;
    auto add = [&](std::pair<std::uint8_t, LexId> step) {
        std::size_t at = count++;
        for (; at > 0 && steps[at - 1].first > step.first; --at) steps[at] = steps[at - 1];
        steps[at] = step;
    };
    bool live = false;
    for (std::size_t i = 0; i < table.starts.size(); ++i) {
        const CodePoint c = table.starts[i];
        const LexId to = character(true, table.targets[i]);
        if (to == dead_lex) continue;
        if (count + 2 == steps.size() || c >= 0x80 || i + 1 == table.starts.size() || table.starts[i + 1] != c + 1) return nullptr;
        live = true;
        if (c >= 0x20 && c != '"' && c != '\\') add({static_cast<std::uint8_t>(c), to});
    }
    if (live) {
        key.mode = LexMode::escape;
        add({'\\', intern(key)});
    }
    if (languages().nullable(states_[id].key.lang)) {
        LexKey end;
        end.mode = LexMode::end;
        end.json = true;
        add({'"', intern(end)});
    }
    return &publish(id, {steps.data(), count});
}

const LexRow& Lexemes::build_row(LexId id) {
    Lock lock(languages().mutex);
    if (const LexRow* done = states_[id].row.load(std::memory_order_acquire)) return *done;
    const LexKey k = states_[id].key;
    if (in_keys(id) && !states_[id].accepting) {
        const KeyCursor at = cursor(id);
        if (same_byte(at) == at.count) {  // one byte leads on
            LexKey next = k;
            ++(k.mode == LexMode::keys ? next.depth : next.value);
            const std::uint8_t byte = key_byte(at.keys[0], at.depth);
            const std::pair<std::uint8_t, LexId> step{byte, intern(next)};
            return publish(id, {&step, 1});
        }
    }
    if (k.mode == LexMode::body)
        if (const LexRow* row = build_few(id)) return *row;
    std::array<LexId, 256> to{};
    // After `bits` of a character of `length` bytes, of which `left` are missing. Characters ascend from call to call, so most calls find what the
    // one before found.
    std::size_t range = 0, known_range = no_range;
    std::uint32_t known_left = 0;
    LexId known_state = dead_lex;
    auto sequence = [&](const DerivativeTable& table, std::uint32_t length, std::uint32_t bits, std::uint32_t left) -> LexId {
        CodePoint first, last;
        if (!prefix_span(bits, left, length, first, last) || (left == 0 && bits >= surrogate_first && bits <= surrogate_last)) return dead_lex;
        while (range + 1 < table.starts.size() && table.starts[range + 1] <= first) ++range;
        const bool alike = range + 1 == table.starts.size() || table.starts[range + 1] > last;
        if (alike && range == known_range && left == known_left && whole_sequence(bits, left, first, last)) return known_state;
        const LexId to = left == 0 ? character(k.json, table.targets[range]) : partial(k.json, k.lang, length << 28 | bits, left);
        if (alike && whole_sequence(bits, left, first, last)) known_range = range, known_left = left, known_state = to;
        return to;
    };
    // Bytes that start a character of more bytes. Where all such characters lead to one language, most of the bytes lead to one state.
    auto long_characters = [&](const DerivativeTable& table) {
        if (table.starts.back() < 0x80 && table.targets.back() == Languages::nothing) return false;
        const bool alike = table.starts.back() <= 0x80;
        bool live = false;
        for (std::uint32_t b = 0xc2; b <= 0xf4; ++b) {
            const bool like_last = alike && b != 0xc2 && (b < 0xe0 || (b > 0xe1 && b < 0xed) || b == 0xef || b == 0xf2 || b == 0xf3);
            if (like_last)
                to[b] = to[b - 1];
            else if (b < 0xe0)
                to[b] = sequence(table, 2, b & 0x1fu, 1);
            else if (b < 0xf0)
                to[b] = sequence(table, 3, b & 0x0fu, 2);
            else
                to[b] = sequence(table, 4, b & 0x07u, 3);
            live |= to[b] != dead_lex;
        }
        return live;
    };
    LexKey next = k;
    next.value = next.extra = next.depth = 0;
    switch (k.mode) {
        case LexMode::dead:
        case LexMode::end:
            break;
        case LexMode::text: {
            const DerivativeTable& table = languages().derivatives(k.lang);
            std::size_t i = 0;
            for (std::uint32_t b = 0; b < 0x80; ++b) {
                while (i + 1 < table.starts.size() && table.starts[i + 1] <= b) ++i;
                to[b] = b && table.starts[i] != b ? to[b - 1] : character(false, table.targets[i]);
            }
            long_characters(table);
            break;
        }
        case LexMode::quote: {
            next.mode = LexMode::body;
            to['"'] = intern(next);
            break;
        }
        case LexMode::body: {
            const DerivativeTable& table = languages().derivatives(k.lang);
            std::size_t i = 0;
            bool live = false;
            LexId last = dead_lex;
            for (std::uint32_t b = 0; b < 0x80; ++b) {
                bool moved = b == 0;
                while (i + 1 < table.starts.size() && table.starts[i + 1] <= b) ++i, moved = true;
                if (moved) last = character(true, table.targets[i]);
                if (b >= 0x20 && b != '"' && b != '\\') to[b] = last;
                live |= last != dead_lex;
            }
            live |= long_characters(table);
            if (live) {
                next.mode = LexMode::escape;
                to['\\'] = intern(next);
            }
            if (languages().nullable(k.lang)) {
                LexKey end;
                end.mode = LexMode::end;
                end.json = true;
                to['"'] = intern(end);
            }
            break;
        }
        case LexMode::partial: {
            const DerivativeTable& table = languages().derivatives(k.lang);
            for (std::uint32_t b = 0x80; b <= 0xbf; ++b) to[b] = sequence(table, k.value >> 28, ((k.value & 0xfffffff) << 6) | (b & 0x3f), k.extra - 1);
            break;
        }
        case LexMode::uniform: {
            next.value = k.value - 1;
            std::fill(to.begin() + 0x80, to.begin() + 0xc0, k.value == 1 ? character(k.json, k.lang) : intern(next));
            break;
        }
        case LexMode::escape:
            for (auto [letter, c] : short_escapes)
                to[static_cast<std::uint8_t>(letter)] = character(true, languages().derivative(k.lang, static_cast<CodePoint>(c)));
            to['u'] = hex(k.lang, 0, 4);
            break;
        case LexMode::hex:
        case LexMode::low_hex:
            for (std::uint32_t b = 0; b < 128; ++b) {
                int d = hex_digit(static_cast<std::uint8_t>(b));
                if (d < 0) continue;
                std::uint32_t digit = static_cast<std::uint32_t>(d);
                to[b] = k.mode == LexMode::hex ? hex(k.lang, k.value << 4 | digit, k.extra - 1) : low_hex(k.lang, k.value, k.extra << 4 | digit, k.depth - 1);
            }
            break;
        case LexMode::low_backslash:
            next.mode = LexMode::low_u;
            next.value = k.value;
            to['\\'] = intern(next);
            break;
        case LexMode::low_u:
            to['u'] = low_hex(k.lang, k.value, 0, 4);
            break;
        case LexMode::keys: {
            const auto& array = key_arrays_[k.lang];
            for (std::uint32_t i = k.value; i < k.extra;) {
                std::uint8_t b = static_cast<std::uint8_t>(keys_[array[i]].spelled[k.depth]);
                std::uint32_t j = i + 1;
                while (j < k.extra && static_cast<std::uint8_t>(keys_[array[j]].spelled[k.depth]) == b) ++j;
                to[b] = keys_state(k.lang, i, j, k.depth + 1);
                i = j;
            }
            break;
        }
        case LexMode::key_tail: break;
    }
    std::array<std::uint8_t, 256> cls;
    std::array<LexId, 256> known;
    std::uint16_t count = 0, live_bytes = 0;
    std::uint64_t live[4] = {0, 0, 0, 0};
    for (std::size_t b = 0; b < 256;) {
        const std::size_t from = b;
        std::uint16_t c = 0;
        while (c < count && known[c] != to[from]) ++c;
        if (c == count) known[count++] = to[from];
        do cls[b++] = static_cast<std::uint8_t>(c);
        while (b < 256 && to[b] == to[from]);
        if (to[from] == dead_lex) continue;
        live_bytes = static_cast<std::uint16_t>(live_bytes + (b - from));
        for (std::size_t i = from; i < b; ++i) live[i / 64] |= std::uint64_t{1} << (i % 64);
    }
    auto row = std::make_unique<LexRow>(LexRow{maps.intern(cls, count), live_bytes, {live[0], live[1], live[2], live[3]}, {known.begin(), known.begin() + count}});
    const LexRow* published = row.release();  // as long-lived as the states
    states_[id].row.store(published, std::memory_order_release);
    return *published;
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
