#include "json_values.h"

#include <algorithm>

#include "lexeme.h"

namespace scansion {

std::string decode_json_string(std::string_view s) {
    std::string out;
    auto hex = [&](std::size_t at) {
        CodePoint c = 0;
        for (std::size_t k = 0; k < 4; ++k) {
            char d = s[at + k];
            c = c << 4 | static_cast<CodePoint>(d <= '9' ? d - '0' : (d | 32) - 'a' + 10);
        }
        return c;
    };
    for (std::size_t i = 0; i < s.size(); ++i) {
        if (s[i] != '\\') {
            out.push_back(s[i]);
            continue;
        }
        if (++i >= s.size()) break;
        switch (s[i]) {
            case 'b': out.push_back('\b'); break;
            case 'f': out.push_back('\f'); break;
            case 'n': out.push_back('\n'); break;
            case 'r': out.push_back('\r'); break;
            case 't': out.push_back('\t'); break;
            case 'u': {
                if (i + 4 >= s.size()) return out;
                CodePoint c = hex(i + 1);
                i += 4;
                if (c >= 0xd800 && c <= 0xdbff) {
                    if (i + 6 >= s.size()) return out;
                    c = 0x10000 + ((c - 0xd800) << 10) + (hex(i + 3) - 0xdc00);
                    i += 6;
                }
                std::uint8_t bytes[4];
                std::uint32_t n = encode_utf8(c, bytes);
                out.append(reinterpret_cast<char*>(bytes), n);
                break;
            }
            default: out.push_back(s[i]);
        }
    }
    return out;
}

std::string normal_number(std::string_view s) {
    std::size_t i = 0;
    bool negative = s[0] == '-';
    if (negative) ++i;
    std::string digits;
    long long exponent = 0;
    bool fraction = false;
    for (; i < s.size() && (s[i] == '.' || (s[i] >= '0' && s[i] <= '9')); ++i) {
        if (s[i] == '.') {
            fraction = true;
        } else {
            digits.push_back(s[i]);
            exponent -= fraction;
        }
    }
    if (i < s.size()) {
        ++i;
        bool minus = i < s.size() && s[i] == '-';
        if (i < s.size() && (s[i] == '-' || s[i] == '+')) ++i;
        long long e = 0;
        for (; i < s.size(); ++i) e = std::min(e * 10 + (s[i] - '0'), 1'000'000'000'000LL);
        exponent += minus ? -e : e;
    }
    std::size_t first = digits.find_first_not_of('0');
    if (first == std::string::npos) return "0";
    digits.erase(0, first);
    while (digits.back() == '0') digits.pop_back(), ++exponent;
    return (negative ? "-" : "") + digits + "e" + std::to_string(exponent);
}

namespace {
// Both normal forms in one pass over a value without white space; an explicit stack, so that depth costs no recursion.
struct Forms {
    std::string in_order, sorted;
    bool has_object = false;
};

std::string string_form(const std::string& decoded) { return "s" + std::to_string(decoded.size()) + ":" + decoded; }

// `partial`: the text may stop anywhere; what is complete of it is in `in_order`.
Forms forms_of(std::string_view s, bool partial = false) {
    struct Level {
        bool object;
        std::vector<std::pair<std::string, std::string>> members;  // key and value, or items with empty keys
        std::string in_order;
        std::string key;
    };
    std::vector<Level> levels;
    Forms done;
    auto emit = [&](std::string in_order, std::string sorted) {
        if (levels.empty()) {
            done.in_order = std::move(in_order);
            done.sorted = std::move(sorted);
            return;
        }
        Level& top = levels.back();
        top.in_order += in_order;
        top.members.emplace_back(std::move(top.key), std::move(sorted));
        top.key.clear();
    };
    bool key_next = false;
    for (std::size_t i = 0; i < s.size();) {
        char c = s[i];
        if (c == '{' || c == '[') {
            levels.push_back({c == '{', {}, std::string(1, c), {}});
            done.has_object |= c == '{';
            key_next = c == '{';
            ++i;
        } else if (c == '}' || c == ']') {
            Level top = std::move(levels.back());
            levels.pop_back();
            if (top.object) std::sort(top.members.begin(), top.members.end());
            std::string sorted(1, top.object ? '{' : '[');
            for (auto& [k, v] : top.members) sorted += k + v;
            emit(top.in_order + c, sorted + c);
            key_next = false;
            ++i;
        } else if (c == ',') {
            key_next = !levels.empty() && levels.back().object;
            ++i;
        } else if (c == ':') {
            ++i;
        } else if (c == '"') {
            std::size_t end = i + 1;
            while (end < s.size() && s[end] != '"') end += s[end] == '\\' ? 2 : 1;
            if (end >= s.size()) break;  // partial only
            std::string form = string_form(decode_json_string(s.substr(i + 1, end - i - 1)));
            i = end + 1;
            if (key_next) {
                levels.back().key = form;
                levels.back().in_order += form;
                key_next = false;
            } else {
                emit(form, form);
            }
        } else {
            std::size_t end = s.find_first_of(",:]}", i);
            if (end == std::string_view::npos) {
                if (partial) break;
                end = s.size();
            }
            std::string_view word = s.substr(i, end - i);
            std::string form = word[0] == 't' || word[0] == 'f' || word[0] == 'n' ? std::string(word) + ";" : normal_number(word) + ";";
            emit(form, form);
            i = end;
        }
    }
    if (partial)
        for (const Level& level : levels) done.in_order += level.in_order;
    return done;
}
}  // namespace

std::uint32_t JsonValues::id_of(std::string_view text) {
    Forms forms = forms_of(text);
    auto [it, fresh] = ids_.try_emplace(forms.sorted, static_cast<std::uint32_t>(values_.size()));
    if (fresh) {
        Value v;
        v.is_string = text[0] == '"';
        if (v.is_string) v.decoded = decode_json_string(text.substr(1, text.size() - 2));
        v.has_object = forms.has_object;
        bytes_ += 2 * forms.sorted.size() + v.decoded.size() + 160;
        v.in_order = std::move(forms.in_order);
        values_.push_back(std::move(v));
    }
    return it->second;
}

bool JsonValues::may_become(std::string_view partial, std::uint32_t id, bool ordered) const {
    const Value& v = values_[id];
    if (partial.empty()) return true;
    if (partial[0] == '"') {
        if (!v.is_string) return false;
        std::string so_far = decode_json_string(partial.substr(1));
        return v.decoded.compare(0, so_far.size(), so_far) == 0;
    }
    if (v.is_string) return false;
    bool container = partial[0] == '{' || partial[0] == '[';
    if (container != (v.in_order[0] == '{' || v.in_order[0] == '[')) return false;
    if (!container) return true;
    if (partial[0] != v.in_order[0]) return false;
    if (!ordered && v.has_object) return true;
    std::string so_far = forms_of(partial, true).in_order;
    return v.in_order.compare(0, so_far.size(), so_far) == 0;
}

}  // namespace scansion
