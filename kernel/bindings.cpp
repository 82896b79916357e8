// The extension module: errors translated, classes bound (bindings_*.cpp).
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "binding_support.h"
#include "errors.h"

namespace nb = nanobind;

NB_MODULE(_kernel, m) {
    m.doc() = "The Scansion kernel: languages, matcher, masks. Typed and documented in _kernel.pyi.";
    // Caches of grammars and vocabularies live until the interpreter ends, which nanobind would report on standard error as leaks.
    nb::set_leak_warnings(false);
    nb::register_exception_translator([](const std::exception_ptr& p, void*) {
        try {
            std::rethrow_exception(p);
        } catch (const scansion::LimitExceeded& e) {
            nb::object type = nb::module_::import_("scansion.errors").attr("LimitError");
            nb::object error = type(e.what(), nb::arg("limit") = e.limit, nb::arg("allowed") = e.allowed);
            PyErr_SetObject(type.ptr(), error.ptr());
        } catch (const scansion::Malformed& e) {
            PyErr_SetString(PyExc_ValueError, e.what());
        }
    });
    scansion::bind_language(m);
    scansion::bind_matching(m);
}
