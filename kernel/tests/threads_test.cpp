// Many matchers of shared constraints on several threads: the masks are those of one thread, and (under ThreadSanitizer) without races.
#include <atomic>
#include <mutex>
#include <random>
#include <thread>

#include "check.h"
#include "matcher.h"

using namespace scansion;
using namespace scansion::test;

namespace {

constexpr std::uint32_t end_token = 256;

LexId text_lexeme(const std::string& text) { return Lexemes::instance().start(Languages::instance().literal(ascii(text)), Encoding::text); }

// Any JSON value of strings of up to `longest` characters, digits, objects and arrays, in compact white space.
std::shared_ptr<Program> json_program(std::uint32_t longest) {
    Languages& languages = Languages::instance();
    auto program = std::make_shared<Program>();
    LangId strings = languages.repeat(Languages::any_char, 0, longest);
    LangId digits = languages.repeat(languages.char_class({{'0', '9'}}), 1, 5);
    program->lexemes = {Lexemes::instance().start(strings, Encoding::json_string), Lexemes::instance().start(digits, Encoding::text)};
    program->nodes = {{Op::ret, 0, 0}, {Op::lex, 0, 0}, {Op::lex, 1, 0}, {Op::object, 0, 0}, {Op::array, 0, 0}, {Op::alt, 0, 4}};
    program->targets = {1, 2, 3, 4};
    program->rules = {5};
    ObjectSpec object;
    object.groups.push_back({Languages::anything, Lexemes::instance().start(Languages::anything, Encoding::json_string), {{0, {}}}});
    program->objects = {object};
    ArraySpec array;
    array.rest = {{0, {}}};
    array.unique = true;
    program->arrays = {array};
    program->conditions.assign(2, {0, 0, 0});
    program->punctuation = {text_lexeme("{"), text_lexeme("}"), text_lexeme("}"), text_lexeme(":"),
                            text_lexeme(","), text_lexeme("["), text_lexeme("]"), text_lexeme("]")};
    program->verify();
    return program;
}

std::shared_ptr<Vocabulary> byte_vocabulary() {
    std::vector<std::optional<std::string>> tokens;
    for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(std::string(1, static_cast<char>(byte)));
    tokens.emplace_back();
    std::mt19937 random(5);
    const std::string alphabet = "ab\"{}[]:,0\\u";
    while (tokens.size() < 3000) {
        std::string token;
        for (std::size_t length = 2 + random() % 4; length > 0; --length) token += alphabet[random() % alphabet.size()];
        tokens.emplace_back(token);
    }
    return std::make_shared<Vocabulary>(std::move(tokens), std::vector<std::uint32_t>{end_token}, std::vector<std::uint32_t>{});
}

using Mask = std::vector<std::uint32_t>;

// The masks along one text, byte by byte.
std::vector<Mask> masks_along(const std::shared_ptr<Constraint>& constraint, const std::string& text) {
    Matcher matcher(constraint);
    std::vector<Mask> masks;
    for (char byte : text) {
        masks.emplace_back(constraint->vocabulary()->words());
        matcher.fill(masks.back().data());
        if (!matcher.accept(static_cast<std::uint8_t>(byte))) return {};
    }
    return masks;
}

const std::vector<std::string> documents{
    R"({"a":["b",12,"ab\u0061"],"ab":{"b":"a","a":0}})",
    R"(["a","b",{"a":"b"},{"a":"a"},[],[0,1,"0"]])",
    R"({"":{"":{"":[[[["aba"]]]]}},"b":"b"})",
    R"("abab\"\\")",
    R"([{"b":1,"a":2},{"a":2,"b":2},3])",
};

}  // namespace

int main() {
    auto vocabulary = byte_vocabulary();
    std::vector<std::vector<std::vector<Mask>>> expected;  // by program, by document
    for (std::uint32_t longest : {8u, 200u}) {
        auto alone = std::make_shared<Constraint>(json_program(longest), vocabulary);
        std::vector<std::vector<Mask>>& of_program = expected.emplace_back();
        for (const std::string& document : documents) {
            of_program.push_back(masks_along(alone, document));
            CHECK(!of_program.back().empty());
        }
    }
    // Fresh constraints, shared by all threads; a fresh vocabulary too, whose slices are then built while others read them.
    auto shared_vocabulary = byte_vocabulary();
    std::vector<std::shared_ptr<Constraint>> constraints;
    for (std::uint32_t longest : {8u, 200u}) constraints.push_back(std::make_shared<Constraint>(json_program(longest), shared_vocabulary));
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (unsigned seed = 0; seed < 4; ++seed)
        threads.emplace_back([&, seed] {
            std::mt19937 random(seed);
            for (int round = 0; round < 40; ++round) {
                std::size_t program = random() % constraints.size(), document = random() % documents.size();
                if (masks_along(constraints[program], documents[document]) != expected[program][document]) ++wrong;
                // New languages and lexemes appear meanwhile, as other grammars are compiled.
                std::lock_guard lock(Languages::instance().mutex);
                Languages::instance().repeat(Languages::any_char, 0, 300 + seed * 100 + static_cast<unsigned>(round));
            }
        });
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == 0);

    // Batches over many constraints, several at once: helpers compute for one of them, the others do without.
    auto batches = [&](unsigned seed) {
        std::mt19937 random(seed);
        for (int round = 0; round < 4; ++round) {
            std::vector<Matcher> matchers;
            std::vector<Mask> wanted;
            for (int i = 0; i < 12; ++i) {
                const std::size_t program = random() % 2, document = random() % documents.size();
                const std::size_t read = random() % documents[document].size();
                Matcher& matcher = matchers.emplace_back(std::make_shared<Constraint>(json_program(program ? 200 : 8), shared_vocabulary));
                if (!matcher.accept_bytes(documents[document].substr(0, read))) ++wrong;
                wanted.push_back(expected[program][document][read]);
            }
            std::vector<Matcher*> batch{nullptr};
            for (Matcher& matcher : matchers) batch.push_back(&matcher);
            batch.push_back(batch[1]);
            wanted.push_back(wanted[0]);
            std::vector<Mask> rows(batch.size(), Mask(shared_vocabulary->words()));
            Matcher::fill_all(batch, [&](std::size_t i) { return rows[i].data(); });
            for (std::size_t i = 0; i < wanted.size(); ++i) wrong += rows[i + 1] != wanted[i];
        }
    };
    threads.clear();
    for (unsigned seed = 10; seed < 13; ++seed) threads.emplace_back(batches, seed);
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == 0);
    return finish();
}
