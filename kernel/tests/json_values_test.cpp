// Normal forms of JSON values: equal where JSON Schema calls values equal, and beginnings of values.
#include "json_values.h"

#include "check.h"

using namespace scansion;
using namespace scansion::test;

namespace {

void numbers_are_compared_by_value() {
    const std::vector<std::vector<std::string>> equal{
        {"0", "-0", "0.0", "0e5", "-0.00E-3"},
        {"1", "1.0", "1.00", "10e-1", "0.1e1", "0.01E+2", "1e0"},
        {"-12.5", "-1.25e1", "-125e-1", "-12.50"},
        {"100", "1e2", "1E+2", "100.000", "0.1e3"},
        {"123456789012345678901234567890", "123456789012345678901234567890.0", "12345678901234567890123456789e1"},
        {"1e999999999999999999999", "1e1000000000000"},  // exponents saturate: such numbers are told apart by digits only
        {"0.1", "1e-1"},
    };
    for (std::size_t i = 0; i < equal.size(); ++i)
        for (const std::string& one : equal[i])
            for (std::size_t j = 0; j < equal.size(); ++j)
                for (const std::string& other : equal[j]) CHECK((normal_number(one) == normal_number(other)) == (i == j));
}

void values_are_equal_as_json_schema_says() {
    const std::vector<std::vector<std::string>> equal{
        {R"("ab")", R"("a\u0062")", R"("\u0061\u0062")"},
        {R"("\n")", R"("\u000a")", R"("\u000A")"},
        {"\"\xf0\x9f\x98\x80\"", R"("\ud83d\ude00")", R"("\uD83D\uDE00")"},
        {R"("\"\\\/")", R"("\u0022\u005c/")"},
        {"true"},
        {"false"},
        {"null"},
        {R"("true")"},
        {"1", "1.0"},
        {R"("1")"},
        {"[]"},
        {"{}"},
        {"[1,2]", "[1.0,2e0]"},
        {"[2,1]"},
        {"[[1],2]"},
        {"[1,[2]]"},
        {R"({"a":1,"b":2})", R"({"b":2,"a":1.0})", R"({"\u0062":2,"a":1})"},
        {R"({"a":2,"b":1})"},
        {R"({"a":{"x":1,"y":[]},"b":0})", R"({"b":0.0,"a":{"y":[],"x":1}})"},
        {R"({"a":"b"})"},
        {R"(["a","b"])"},
        {R"({"a1":"b"})"},
        {R"({"":""})"},
        {R"(["",""])"},
        {R"(["s1:","s"])"},
        {R"(["s1:s",""])"},
        {R"("]")"},
        {R"(["]"])"},
    };
    JsonValues values;
    for (std::size_t i = 0; i < equal.size(); ++i)
        for (const std::string& one : equal[i])
            for (std::size_t j = 0; j < equal.size(); ++j)
                for (const std::string& other : equal[j]) CHECK((values.id_of(one) == values.id_of(other)) == (i == j));
    CHECK(values.is_string(values.id_of(R"("x")")) && !values.is_string(values.id_of("1")));
    CHECK(values.decoded(values.id_of(R"("a\u0062\n")")) == "ab\n");
}

// `may_become` must never deny a beginning of an equal text; it may affirm more.
void beginnings_are_recognised() {
    JsonValues values;
    const std::vector<std::vector<std::string>> equal{
        {R"("ab\u00e9")", "\"ab\xc3\xa9\"", R"("\u0061b\u00E9")"},
        {"12.50", "12.5", "125e-1"},
        {R"([1,{"a":"x","b":[true]}])", R"([1.0,{"a":"\u0078","b":[true]}])"},
        {"[[],[[]],{}]"},
        {"true"},
    };
    for (const auto& group : equal) {
        std::uint32_t id = values.id_of(group[0]);
        for (const std::string& text : group)
            for (std::size_t length = 0; length < text.size(); ++length) CHECK(values.may_become(text.substr(0, length), id, true));
    }
    std::uint32_t unordered = values.id_of(R"({"a":1,"b":2})");
    CHECK(values.may_become(R"({"b":2,)", unordered, false));
    CHECK(!values.may_become("[", unordered, false));
    CHECK(!values.may_become(R"("a)", unordered, false));
    std::uint32_t word = values.id_of(R"("red")");
    CHECK(values.may_become(R"("\u0072e)", word, true));
    CHECK(!values.may_become(R"("g)", word, true));
    CHECK(!values.may_become("1", word, true));
}

void deep_values_need_no_recursion() {
    JsonValues values;
    std::string deep = std::string(2000, '[') + std::string(2000, ']');
    std::uint32_t id = values.id_of(deep);
    CHECK(values.id_of(deep) == id);
    CHECK(values.may_become(std::string(1500, '['), id, true));
}

}  // namespace

int main() {
    numbers_are_compared_by_value();
    values_are_equal_as_json_schema_says();
    beginnings_are_recognised();
    deep_values_need_no_recursion();
    return finish();
}
