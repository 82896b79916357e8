// Where the 256 bytes lead from a lexeme state.
#include <algorithm>

#include "lexeme.h"

namespace scansion {

namespace {
Languages& languages() { return Languages::instance(); }
constexpr std::size_t no_range = ~std::size_t{0};
}  // namespace

// Few bytes lead on, each to a state of its own.
const LexRow& Lexemes::few_steps(LexId id, std::span<const std::pair<std::uint8_t, LexId>> steps) {
    std::array<std::uint8_t, ByteMaps::few_limit> bytes;
    auto row = std::make_unique<LexRow>(LexRow{nullptr, static_cast<std::uint16_t>(steps.size()), {0, 0, 0, 0}, std::vector<LexId>(steps.size() + 1, dead_lex)});
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const std::uint8_t byte = bytes[i] = steps[i].first;
        row->live[byte / 64] |= std::uint64_t{1} << (byte % 64);
        row->targets[i + 1] = steps[i].second;
    }
    row->map = maps.few({bytes.data(), steps.size()});
    return publish(id, std::move(row));
}

const LexRow& Lexemes::publish(LexId id, std::unique_ptr<LexRow> row) {
    const LexRow* published = row.release();  // as long-lived as the states
    states_[id].row.store(published, std::memory_order_release);
    return *published;
}

LexId Lexemes::string_end() {
    LexKey end;
    end.mode = LexMode::end;
    end.json = true;
    return intern(end);
}

// The row where few single characters of ASCII may come, as in a list of words; else nothing.
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
        const LexId to = character(key.json, table.targets[i]);
        if (to == dead_lex) continue;
        if (count + 2 == steps.size() || c == 0 || c >= 0x80 || i + 1 == table.starts.size() || table.starts[i + 1] != c + 1) return nullptr;
        live = true;
        if (!key.json || (c >= 0x20 && c != '"' && c != '\\')) add({static_cast<std::uint8_t>(c), to});
    }
    if (!key.json) return &few_steps(id, {steps.data(), count});
    if (live) {
        key.mode = LexMode::escape;
        add({'\\', intern(key)});
    }
    if (languages().nullable(key.lang)) add({'"', string_end()});
    return &few_steps(id, {steps.data(), count});
}

const LexRow& Lexemes::build_row(LexId id) {
    std::lock_guard lock(languages().mutex);
    if (const LexRow* done = states_[id].row.load(std::memory_order_acquire)) return *done;
    const LexKey k = states_[id].key;
    if (in_keys(id) && !states_[id].accepting) {
        const KeyCursor at = cursor(id);
        if (same_byte(at) == at.count) {  // one byte leads on
            LexKey next = k;
            ++(k.mode == LexMode::keys ? next.depth : next.value);
            const std::uint8_t byte = key_byte(at.keys[0], at.depth);
            const std::pair<std::uint8_t, LexId> step{byte, intern(next)};
            return few_steps(id, {&step, 1});
        }
    }
    if (k.mode == LexMode::body || k.mode == LexMode::text)
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
            if (languages().nullable(k.lang)) to['"'] = string_end();
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
    return publish(id, std::make_unique<LexRow>(LexRow{maps.intern(cls, count), live_bytes, {live[0], live[1], live[2], live[3]}, {known.begin(), known.begin() + count}}));
}

}  // namespace scansion
