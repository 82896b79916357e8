// Errors the kernel raises; bindings.cpp maps them to scansion.errors.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>

namespace scansion {

// A documented bound was met: `limit` names it, `allowed` is its value.
struct LimitExceeded : std::runtime_error {
    std::string limit;
    std::uint64_t allowed;
    LimitExceeded(std::string limit_name, std::uint64_t allowed_value, const std::string& message)
        : std::runtime_error(message), limit(std::move(limit_name)), allowed(allowed_value) {}
};

// Flat data handed to the kernel is malformed (a fault of the caller, not of a user's grammar).
struct Malformed : std::invalid_argument {
    using std::invalid_argument::invalid_argument;
};

}  // namespace scansion
