// The little that C++ tests here need: CHECK counts and reports, finish() is main's result.
#pragma once
#include <cstdio>
#include <string>
#include <vector>

#include "language.h"

namespace scansion::test {

inline int failures = 0;
inline int checks = 0;

inline void check(bool holds, const char* expression, const char* file, int line) {
    ++checks;
    if (holds) return;
    ++failures;
    std::fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, expression);
}

inline int finish() {
    std::printf("%d checks, %d failed\n", checks, failures);
    return failures == 0 ? 0 : 1;
}

inline std::vector<CodePoint> ascii(const std::string& text) { return {text.begin(), text.end()}; }

// All strings over `alphabet` of at most `longest` characters, shortest first.
inline std::vector<std::string> all_strings(const std::string& alphabet, std::size_t longest) {
    std::vector<std::string> all{""};
    for (std::size_t begin = 0, length = 0; length < longest; ++length) {
        std::size_t end = all.size();
        for (; begin < end; ++begin)
            for (char c : alphabet) all.push_back(all[begin] + c);
    }
    return all;
}

}  // namespace scansion::test

#define CHECK(expression) ::scansion::test::check(static_cast<bool>(expression), #expression, __FILE__, __LINE__)
