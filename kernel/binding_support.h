// Small conversions shared by the binding files.
#pragma once
#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "language.h"

namespace scansion {

namespace nb = nanobind;

struct LanguageHandle {
    LangId id;
};

nb::tuple tuple_of(nb::handle value, std::size_t length, const char* what);  // Malformed where it is not one of that length
std::vector<CodePoint> code_points(nb::handle text);          // TypeError where it is not a str
nb::object text_object(const std::vector<CodePoint>& text);   // surrogates cannot occur
nb::list language_structure(LangId id);                       // parts before wholes; see language_from_structure
LangId language_from_structure(nb::sequence entries);

void bind_language(nb::module_& m);
void bind_matching(nb::module_& m);

}  // namespace scansion
