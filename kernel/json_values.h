// JSON texts as values: two texts have the same id where JSON Schema calls their values equal (1 = 1.0, key order aside).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace scansion {

class JsonValues {
  public:
    static constexpr std::uint32_t none = 0xffffffffu;
    // `text` is a whole JSON value without white space between its tokens.
    std::uint32_t id_of(std::string_view text);
    bool is_string(std::uint32_t id) const { return values_[id].is_string; }
    const std::string& decoded(std::uint32_t id) const { return values_[id].decoded; }  // of a string: its value in UTF-8
    // Whether a text that begins with `partial` may become a value equal to `id`. `ordered`: keys come in one order, so that beginnings
    // can be compared; otherwise containers of one kind are all taken as possible.
    bool may_become(std::string_view partial, std::uint32_t id, bool ordered) const;
    std::size_t bytes() const { return bytes_; }

  private:
    struct Value {
        std::string in_order;  // numbers normal, strings decoded and length-prefixed, keys as they came
        std::string decoded;
        bool is_string = false;
        bool has_object = false;
    };
    std::unordered_map<std::string, std::uint32_t> ids_;  // by normal form with keys sorted
    std::vector<Value> values_;
    std::size_t bytes_ = 0;
};

// The decoded content of a JSON string's inside, as far as it is complete.
std::string decode_json_string(std::string_view inside);
// digits and exponent in one spelling: "-", significant digits without leading or trailing zeros, "e", exponent.
std::string normal_number(std::string_view text);

}  // namespace scansion
