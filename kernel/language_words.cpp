// The words of a language: how many, which, the shortest, and whether a text is one.
#include "language.h"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <unordered_set>

namespace scansion {

std::uint64_t Languages::count(LangId a, std::uint64_t limit) {
    std::unordered_map<LangId, std::uint64_t> known;
    std::unordered_set<LangId> path;
    std::function<std::uint64_t(LangId, int)> visit = [&](LangId s, int depth) -> std::uint64_t {
        if (is_nothing(s)) return 0;
        if (auto it = known.find(s); it != known.end()) return it->second;
        if (!path.insert(s).second) return limit;  // a cycle through a live state: endless
        if (depth > 3000 || known.size() > state_limit) return limit;
        std::uint64_t total = nodes_[s].nullable;
        const DerivativeTable& table = derivatives(s);
        auto width = [&](std::size_t i) {
            CodePoint first = table.starts[i], end = i + 1 < table.starts.size() ? table.starts[i + 1] : max_code_point + 1;
            std::uint64_t n = end - first;
            CodePoint low = std::max(first, surrogate_first), high = std::min(end, surrogate_last + 1);
            return low < high ? n - (high - low) : n;
        };
        for (std::size_t i = 0; i < table.targets.size() && total < limit; ++i)
            if (!is_nothing(table.targets[i])) total += width(i);  // each live target holds a word at least
        if (total < limit) {
            total = nodes_[s].nullable;
            for (std::size_t i = 0; i < table.targets.size() && total < limit; ++i) {
                std::uint64_t n = width(i);
                if (n) total += std::min(limit, n * std::min(limit, visit(table.targets[i], depth + 1)));
            }
        }
        path.erase(s);
        return known[s] = std::min(total, limit);
    };
    return visit(a, 0);
}

std::optional<std::vector<std::vector<CodePoint>>> Languages::words(LangId a, std::size_t limit) {
    if (count(a, limit + 1) > limit) return std::nullopt;
    std::vector<std::vector<CodePoint>> out;
    std::vector<CodePoint> word;
    std::function<void(LangId)> visit = [&](LangId s) {
        if (is_nothing(s)) return;
        if (nodes_[s].nullable) out.push_back(word);
        const DerivativeTable& table = derivatives(s);
        for (std::size_t i = 0; i < table.targets.size(); ++i) {
            if (is_nothing(table.targets[i])) continue;
            CodePoint end = i + 1 < table.starts.size() ? table.starts[i + 1] : max_code_point + 1;
            for (CodePoint c = table.starts[i]; c < end; ++c) {
                if (c >= surrogate_first && c <= surrogate_last) continue;
                word.push_back(c);
                visit(table.targets[i]);
                word.pop_back();
            }
        }
    };
    visit(a);
    return out;
}

std::optional<std::vector<CodePoint>> Languages::shortest(LangId a) {
    if (is_nothing(a)) return std::nullopt;
    std::vector<CodePoint> out;
    std::uint32_t left = min_length(a);
    if (left > word_limit) throw LimitExceeded("word_length", word_limit, "the shortest match has more than " + std::to_string(word_limit) + " characters");
    for (; left > 0; --left) {
        const DerivativeTable& table = derivatives(a);
        bool moved = false;
        // Printable ASCII first, so that witnesses read well.
        for (int pass = 0; pass < 2 && !moved; ++pass) {
            for (std::size_t i = 0; i < table.targets.size() && !moved; ++i) {
                CodePoint end = i + 1 < table.starts.size() ? table.starts[i + 1] : max_code_point + 1;
                CodePoint c = table.starts[i];
                if (pass == 0) {
                    c = std::max<CodePoint>(c, 0x20);
                    if (c >= std::min<CodePoint>(end, 0x7f)) continue;
                    if (c <= '0' && '0' < end)
                        c = '0';
                    else if (c <= 'a' && 'a' < end)
                        c = 'a';
                } else if (c >= surrogate_first && c <= surrogate_last) {
                    c = surrogate_last + 1;
                    if (c >= end) continue;
                }
                if (min_length(table.targets[i]) != left - 1) continue;
                out.push_back(c);
                a = table.targets[i];
                moved = true;
            }
        }
        if (!moved) throw Malformed("internal: shortest word of a language not found");
    }
    return out;
}

bool Languages::matches(LangId a, const std::vector<CodePoint>& text) {
    for (CodePoint c : text) {
        a = derivative(a, c);
        if (a == nothing) return false;
    }
    return nodes_[a].nullable;
}

}  // namespace scansion
