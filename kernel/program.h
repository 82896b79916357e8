// A verified flat program: see "Program" in docs/architecture.md for every field.
#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "language.h"
#include "lexeme.h"

namespace scansion {

enum class Op : std::uint32_t { ret = 0, lex, call, alt, token, object, array, repeat, fail, budget };

constexpr std::uint32_t no_limit = 0xffffffffu;
constexpr std::uint32_t no_rule = 0xffffffffu;
constexpr std::uint32_t max_budget = 0x7fffffffu;  // tokens
constexpr std::uint32_t no_condition = 0xffffffffu;

struct Node {
    Op op;
    std::uint32_t a, b;
};

struct Alternative {
    std::uint32_t rule;
    std::vector<std::uint32_t> events;
};
using Value = std::vector<Alternative>;  // empty: nothing is allowed there

struct Property {
    std::uint32_t key;  // Lexemes key id
    Value value;
    bool required;
};

struct Group {
    LangId language;
    LexId lexeme;  // JSON string, start state
    Value value;
};

struct ObjectSpec {
    bool any_order = false;
    std::vector<Property> properties;
    std::vector<Group> groups;
    std::uint32_t min_properties = 0, max_properties = no_limit;
    std::uint32_t condition = no_condition;
    std::int32_t label = -1;
    // derived
    std::unordered_map<std::uint32_t, std::uint32_t> index_of_key;
    std::vector<std::uint32_t> by_spelling;      // property indices in the order of their keys' spellings
    std::vector<std::uint32_t> required_after;   // [i]: required properties at or after i
    std::vector<std::uint32_t> possible_after;   // [i]: properties at or after i that may be present
    std::uint32_t events = 0;                    // number of events
    std::vector<std::vector<std::uint32_t>> setters;  // [event - properties]: property indices (properties.size() = a group) that can set it
    LexId any_key_lexeme = dead_lex;             // where keys may be spelled freely: any string
};

struct ArraySpec {
    std::vector<Value> prefix;
    Value rest;
    std::uint32_t min_items = 0, max_items = no_limit;
    bool unique = false;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> counters;
    std::int32_t label = -1;
    bool may_have(std::uint32_t index) const { return index < max_items && !at(index).empty(); }
    const Value& at(std::uint32_t index) const { return index < prefix.size() ? prefix[index] : rest; }
};

struct Condition {
    std::uint32_t event, if_false, if_true;
};

struct Repeat {
    std::uint32_t rule, low, high;
};

struct Budget {
    std::uint32_t rule, tokens;
};

struct Punctuation {
    LexId object_open, object_close_empty, object_close, colon, comma, array_open, array_close_empty, array_close;
};

struct Program {
    std::vector<Node> nodes;
    std::vector<std::uint32_t> targets;
    std::vector<std::uint32_t> rules;
    std::vector<LexId> lexemes;
    std::vector<ObjectSpec> objects;
    std::vector<ArraySpec> arrays;
    std::vector<Condition> conditions;  // index 0 false, 1 true
    std::vector<std::vector<std::pair<std::uint32_t, std::uint32_t>>> token_sets;
    Punctuation punctuation{};
    std::uint32_t start = 0;
    bool canonical_keys = true;
    // derived by verify()
    std::vector<bool> nullable;        // by rule
    std::vector<std::uint32_t> rank;   // by rule: callers at the same position come first
    bool has_budgets = false;

    Repeat repeat_at(std::uint32_t node) const {
        const std::uint32_t* r = &targets[nodes[node].a];
        return {r[0], r[1], r[2]};
    }
    Budget budget_at(std::uint32_t node) const { return {targets[nodes[node].a], targets[nodes[node].a + 1]}; }
    void verify();  // Malformed

  private:
    void refuse_budgets_in_containers() const;
    void find_nullable();
};

}  // namespace scansion
