// Small programs written by hand, for the C++ tests.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "check.h"
#include "matcher.h"
#include "program.h"

namespace scansion::test {

// Appends as scansion.program.ProgramBuilder does. Node 0 returns; compact white space.
class Builder {
  public:
    Builder() {
        program_->nodes.push_back({Op::ret, 0, 0});
        program_->conditions.assign(2, {0, 0, 0});
        program_->punctuation = {text("{"), text("}"), text("}"), text(":"), text(","), text("["), text("]"), text("]")};
    }
    static LexId text(const std::string& word) { return Lexemes::instance().start(Languages::instance().literal(ascii(word)), Encoding::text); }
    static LexId words(const std::vector<std::string>& list) { return Lexemes::instance().start(language_of(list), Encoding::text); }
    static LangId language_of(const std::vector<std::string>& list) {
        std::vector<std::vector<CodePoint>> texts;
        for (const std::string& word : list) texts.push_back(ascii(word));
        return Languages::instance().literals(std::move(texts));
    }
    std::uint32_t node(Op op, std::uint32_t a, std::uint32_t b = 0) {
        program_->nodes.push_back({op, a, b});
        return static_cast<std::uint32_t>(program_->nodes.size() - 1);
    }
    std::uint32_t lex(LexId lexeme, std::uint32_t next = 0) {
        program_->lexemes.push_back(lexeme);
        return node(Op::lex, static_cast<std::uint32_t>(program_->lexemes.size() - 1), next);
    }
    std::uint32_t lex(const std::string& word, std::uint32_t next = 0) { return lex(text(word), next); }
    std::uint32_t alt(const std::vector<std::uint32_t>& nodes) {
        auto first = static_cast<std::uint32_t>(program_->targets.size());
        program_->targets.insert(program_->targets.end(), nodes.begin(), nodes.end());
        return node(Op::alt, first, static_cast<std::uint32_t>(nodes.size()));
    }
    std::uint32_t repeat(std::uint32_t rule, std::uint32_t low, std::uint32_t high, std::uint32_t next = 0) {
        auto first = static_cast<std::uint32_t>(program_->targets.size());
        program_->targets.insert(program_->targets.end(), {rule, low, high});
        return node(Op::repeat, first, next);
    }
    std::uint32_t budget(std::uint32_t rule, std::uint32_t tokens, std::uint32_t next = 0) {
        auto first = static_cast<std::uint32_t>(program_->targets.size());
        program_->targets.insert(program_->targets.end(), {rule, tokens});
        return node(Op::budget, first, next);
    }
    std::uint32_t token(std::uint32_t low, std::uint32_t high, std::uint32_t next = 0) {
        program_->token_sets.push_back({{low, high}});
        return node(Op::token, static_cast<std::uint32_t>(program_->token_sets.size() - 1), next);
    }
    std::uint32_t rule(std::uint32_t entry = 0) {
        program_->rules.push_back(entry);
        return static_cast<std::uint32_t>(program_->rules.size() - 1);
    }
    void set_rule(std::uint32_t rule, std::uint32_t entry) { program_->rules[rule] = entry; }
    std::uint32_t object(ObjectSpec spec, std::uint32_t next = 0) {
        program_->objects.push_back(std::move(spec));
        return node(Op::object, static_cast<std::uint32_t>(program_->objects.size() - 1), next);
    }
    std::uint32_t array(ArraySpec spec, std::uint32_t next = 0) {
        program_->arrays.push_back(std::move(spec));
        return node(Op::array, static_cast<std::uint32_t>(program_->arrays.size() - 1), next);
    }
    std::uint32_t condition(std::uint32_t event, std::uint32_t if_false, std::uint32_t if_true) {
        program_->conditions.push_back({event, if_false, if_true});
        return static_cast<std::uint32_t>(program_->conditions.size() - 1);
    }
    static Property property(const std::string& name, std::uint32_t rule, bool required = false) {
        return {Lexemes::instance().intern_key(name), {{rule, {}}}, required};
    }
    static Group group(LangId keys, std::uint32_t rule) { return {keys, Lexemes::instance().start(keys, Encoding::json_string), {{rule, {}}}}; }
    Program& program() { return *program_; }
    std::shared_ptr<const Program> finish(std::uint32_t start) {
        program_->start = start;
        program_->verify();
        return program_;
    }

  private:
    std::shared_ptr<Program> program_ = std::make_shared<Program>();
};

// A token for each byte, the end token 256, then those given.
inline std::shared_ptr<Vocabulary> byte_vocabulary(const std::vector<std::string>& more = {}) {
    std::vector<std::optional<std::string>> tokens;
    for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(std::string(1, static_cast<char>(byte)));
    tokens.emplace_back();
    for (const std::string& token : more) tokens.emplace_back(token);
    return std::make_shared<Vocabulary>(std::move(tokens), std::vector<std::uint32_t>{256}, std::vector<std::uint32_t>{});
}

inline std::shared_ptr<Constraint> constraint_of(std::shared_ptr<const Program> program, std::shared_ptr<Vocabulary> vocabulary = byte_vocabulary()) {
    return std::make_shared<Constraint>(std::move(program), std::move(vocabulary));
}

template <class Error, class Action>
bool throws(Action action) {
    try {
        action();
    } catch (const Error&) {
        return true;
    }
    return false;
}

}  // namespace scansion::test
