#include "key_tails.h"

#include <algorithm>
#include <string_view>

#include "json_values.h"
#include "lexeme.h"

namespace scansion {

namespace {
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

std::size_t skip_space(std::string_view text, std::size_t at) {
    while (at < text.size() && is_space(text[at])) ++at;
    return at;
}

enum class Tail { broken, open, closed };

// How a key, and the colon after it, can be spelled so; `end` is set to where the key ends.
Tail kind_of(std::string_view text, std::size_t& end) {
    Lexemes& lexemes = Lexemes::instance();
    LexId lex = lexemes.start(Languages::anything, Encoding::json_string);
    for (end = 0; end < text.size() && !lexemes.accepting(lex); ++end)
        if ((lex = lexemes.step(lex, static_cast<std::uint8_t>(text[end]))) == dead_lex) return Tail::broken;
    if (!lexemes.accepting(lex)) return Tail::open;
    const std::size_t next = skip_space(text, end);
    return next == text.size() || text[next] == ':' ? Tail::closed : Tail::broken;
}
}  // namespace

KeyTails find_key_tails(const std::vector<std::optional<std::string>>& tokens) {
    KeyTails found;
    std::size_t end = 0;
    for (const auto& token : tokens) {
        if (!token || token->find('"') == std::string::npos) continue;
        const std::string_view text = *token;
        if (const std::size_t start = skip_space(text, 0); start + 1 < text.size() && text[start] == '"') {
            const Tail kind = kind_of(text.substr(start), end);
            if (kind == Tail::closed) found.whole.push_back(decode_json_string(text.substr(start + 1, end - 2)));
            if (kind != Tail::broken && start > 0) found.after_space.emplace_back(text.substr(start));
        }
        for (std::size_t comma = text.find(','); comma != std::string_view::npos; comma = text.find(',', comma + 1)) {
            const std::size_t quote = skip_space(text, comma + 1);
            if (quote + 1 >= text.size() || text[quote] != '"') continue;
            const Tail kind = kind_of(text.substr(quote), end);
            if (kind == Tail::broken) continue;
            found.closed |= kind == Tail::closed;
            found.texts.emplace_back(text.substr(quote));
        }
    }
    for (auto* list : {&found.texts, &found.whole, &found.after_space}) sort_unique(*list);
    if (std::max({found.texts.size(), found.whole.size(), found.after_space.size()}) > KeyTails::limit) {
        found = {};
        found.known = false;
    }
    return found;
}

}  // namespace scansion
