#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <unordered_map>

#include "binding_support.h"

namespace scansion {

namespace {
using Lock = std::lock_guard<Languages::Mutex>;
Languages& all() { return Languages::instance(); }

std::vector<LangId> ids(nb::sequence parts) {
    std::vector<LangId> out;
    for (nb::handle p : parts) out.push_back(nb::cast<LanguageHandle>(p).id);
    return out;
}

CodePoint checked(nb::handle value) {
    long long c = nb::cast<long long>(value);
    if (c < 0 || c > max_code_point) throw nb::value_error("a code point lies outside 0..0x10FFFF");
    return static_cast<CodePoint>(c);
}

RangeSet range_set(nb::sequence ranges) {
    RangeSet out;
    for (nb::handle item : ranges) {
        nb::tuple pair = tuple_of(item, 2, "a range of code points");
        out.push_back({checked(pair[0]), checked(pair[1])});
    }
    return out;
}

Automaton automaton_data(nb::sequence transitions, nb::sequence accepting) {
    Automaton a;
    for (nb::handle row : transitions) {
        auto& edges = a.edges.emplace_back();
        for (nb::handle item : nb::cast<nb::sequence>(row)) {
            nb::tuple t = tuple_of(item, 3, "an automaton's transition");
            edges.push_back({checked(t[0]), checked(t[1]), nb::cast<std::uint32_t>(t[2])});
        }
    }
    for (nb::handle flag : accepting) a.accepting.push_back(nb::cast<bool>(flag));
    return a;
}
}  // namespace

nb::tuple tuple_of(nb::handle value, std::size_t length, const char* what) {
    if (!nb::isinstance<nb::tuple>(value) || nb::len(value) != length)
        throw Malformed(std::string(what) + " is not a tuple of " + std::to_string(length));
    return nb::borrow<nb::tuple>(value);
}

std::vector<CodePoint> code_points(nb::handle text) {
    if (!PyUnicode_Check(text.ptr())) throw nb::type_error("a str is wanted");
    Py_ssize_t n = PyUnicode_GET_LENGTH(text.ptr());
    int kind = PyUnicode_KIND(text.ptr());
    const void* data = PyUnicode_DATA(text.ptr());
    std::vector<CodePoint> out(static_cast<std::size_t>(n));
    for (Py_ssize_t i = 0; i < n; ++i) out[static_cast<std::size_t>(i)] = PyUnicode_READ(kind, data, i);
    return out;
}

nb::object text_object(const std::vector<CodePoint>& text) {
    PyObject* str = PyUnicode_FromKindAndData(PyUnicode_4BYTE_KIND, text.data(), static_cast<Py_ssize_t>(text.size()));
    if (!str) throw nb::python_error();
    return nb::steal(str);
}

namespace {
// One entry of a language's structure, in plain values: Python must not run while the languages are locked, or two threads that want the
// interpreter and the lock wait for each other.
struct Entry {
    LangOp op = LangOp::nothing;
    std::vector<std::size_t> parts;
    RangeSet ranges;
    Automaton automaton;
    std::uint32_t first = 0, second = 0;
};

std::vector<Entry> entries_of(LangId root) {
    Lock lock(all().mutex);
    std::vector<Entry> out;
    std::unordered_map<LangId, std::size_t> place;
    std::vector<LangId> stack{root};
    while (!stack.empty()) {
        LangId id = stack.back();
        if (place.count(id)) {
            stack.pop_back();
            continue;
        }
        bool ready = true;
        for (LangId c : all().children(id))
            if (!place.count(c)) stack.push_back(c), ready = false;
        if (!ready) continue;
        stack.pop_back();
        Entry e;
        e.op = all().op(id);
        for (LangId c : all().children(id)) e.parts.push_back(place[c]);
        if (e.op == LangOp::char_class) e.ranges = all().class_ranges(id);
        if (e.op == LangOp::repeat) e.first = all().field_b(id), e.second = all().field_c(id);
        if (e.op == LangOp::automaton) e.automaton = all().automaton_of(id), e.first = all().field_b(id);
        place[id] = out.size();
        out.push_back(std::move(e));
    }
    return out;
}

LangId build(std::vector<Entry> entries) {
    Lock lock(all().mutex);
    std::vector<LangId> built;
    for (Entry& e : entries) {
        std::vector<LangId> parts;
        for (std::size_t p : e.parts) {
            if (p >= built.size()) throw Malformed("a language's structure names a later entry");
            parts.push_back(built[p]);
        }
        if ((e.op == LangOp::complement || e.op == LangOp::repeat) && parts.size() != 1) throw Malformed("a language's structure has a malformed entry");
        switch (e.op) {
            case LangOp::nothing: built.push_back(Languages::nothing); break;
            case LangOp::empty: built.push_back(Languages::empty); break;
            case LangOp::char_class: built.push_back(all().char_class(std::move(e.ranges))); break;
            case LangOp::concat: built.push_back(all().concat(parts)); break;
            case LangOp::union_: built.push_back(all().union_(std::move(parts))); break;
            case LangOp::intersection: built.push_back(all().intersection(std::move(parts))); break;
            case LangOp::complement: built.push_back(all().complement(parts[0])); break;
            case LangOp::repeat: built.push_back(all().repeat(parts[0], e.first, e.second)); break;
            case LangOp::automaton: built.push_back(all().automaton(std::move(e.automaton), e.first)); break;
            default: throw Malformed("unknown language operation");
        }
    }
    if (built.empty()) throw Malformed("an empty language structure");
    return built.back();
}
}  // namespace

nb::list language_structure(LangId root) {
    nb::list out;
    for (const Entry& e : entries_of(root)) {
        const int op = static_cast<int>(e.op);
        nb::list parts;
        for (std::size_t p : e.parts) parts.append(p);
        if (e.op == LangOp::char_class) {
            nb::list ranges;
            for (const Range& r : e.ranges) ranges.append(nb::make_tuple(r.first, r.last));
            out.append(nb::make_tuple(op, ranges));
        } else if (e.op == LangOp::repeat) {
            out.append(nb::make_tuple(op, parts, e.first, e.second));
        } else if (e.op == LangOp::automaton) {
            nb::list rows, accepting;
            for (std::size_t s = 0; s < e.automaton.edges.size(); ++s) {
                nb::list row;
                for (const auto& edge : e.automaton.edges[s]) row.append(nb::make_tuple(edge.first, edge.last, edge.target));
                rows.append(row);
                accepting.append(bool(e.automaton.accepting[s]));
            }
            out.append(nb::make_tuple(op, rows, accepting, e.first));
        } else {
            out.append(nb::make_tuple(op, parts));
        }
    }
    return out;
}

LangId language_from_structure(nb::sequence entries) {
    std::vector<Entry> parsed;
    for (nb::handle item : entries) {
        if (!nb::isinstance<nb::tuple>(item) || nb::len(item) < 2) throw Malformed("a language's structure has a malformed entry");
        nb::tuple t = nb::borrow<nb::tuple>(item);
        auto field = [&](std::size_t i) {
            if (i >= nb::len(t)) throw Malformed("a language's structure has a malformed entry");
            return nb::object(t[i]);
        };
        Entry e;
        e.op = static_cast<LangOp>(nb::cast<int>(t[0]));
        if (e.op == LangOp::char_class) {
            e.ranges = range_set(nb::cast<nb::sequence>(t[1]));
        } else if (e.op == LangOp::automaton) {
            e.automaton = automaton_data(nb::cast<nb::sequence>(t[1]), nb::cast<nb::sequence>(field(2)));
            e.first = nb::cast<std::uint32_t>(field(3));
        } else {
            for (nb::handle p : nb::cast<nb::sequence>(t[1])) e.parts.push_back(nb::cast<std::size_t>(p));
            if (e.op == LangOp::repeat) e.first = nb::cast<std::uint32_t>(field(2)), e.second = nb::cast<std::uint32_t>(field(3));
        }
        parsed.push_back(std::move(e));
    }
    return build(std::move(parsed));
}

void bind_language(nb::module_& m) {
    using H = LanguageHandle;
    nb::class_<H>(m, "Language", "A regular language over Unicode scalar values; see _kernel.pyi.")
        .def_static("nothing", [] { return H{Languages::nothing}; })
        .def_static("empty", [] { return H{Languages::empty}; })
        .def_static("anything", [] { return H{Languages::anything}; })
        .def_static("char_class", [](nb::sequence ranges) { RangeSet set = range_set(ranges); Lock l(all().mutex); return H{all().char_class(std::move(set))}; }, nb::arg("ranges"))
        .def_static("literal", [](nb::handle text) { auto points = code_points(text); Lock l(all().mutex); return H{all().literal(points)}; }, nb::arg("text"))
        .def_static("literals", [](nb::sequence texts) {
                std::vector<std::vector<CodePoint>> all_texts;
                for (nb::handle t : texts) all_texts.push_back(code_points(t));
                Lock l(all().mutex);
                return H{all().literals(std::move(all_texts))};
            }, nb::arg("texts"))
        .def_static("concat", [](nb::sequence parts) { auto p = ids(parts); Lock l(all().mutex); return H{all().concat(p)}; }, nb::arg("parts"))
        .def_static("union", [](nb::sequence parts) { auto p = ids(parts); Lock l(all().mutex); return H{all().union_(p)}; }, nb::arg("parts"))
        .def_static("intersection", [](nb::sequence parts) { auto p = ids(parts); Lock l(all().mutex); return H{all().intersection(p)}; }, nb::arg("parts"))
        .def_static("automaton", [](nb::sequence transitions, nb::sequence accepting, std::uint32_t start) {
                Automaton a = automaton_data(transitions, accepting);
                Lock l(all().mutex);
                return H{all().automaton(std::move(a), start)};
            }, nb::arg("transitions"), nb::arg("accepting"), nb::arg("start") = 0)
        .def("complement", [](H h) { Lock l(all().mutex); return H{all().complement(h.id)}; })
        .def("repeat", [](H h, std::uint32_t low, std::optional<std::uint32_t> high) {
                if (high && *high < low) throw nb::value_error("repeat: high is below low");
                Lock l(all().mutex);
                return H{all().repeat(h.id, low, high ? *high : unbounded)};
            }, nb::arg("low"), nb::arg("high").none() = nb::none())
        .def("derivative", [](H h, nb::handle text) {
                auto points = code_points(text);
                Lock l(all().mutex);
                LangId id = h.id;
                for (CodePoint c : points) id = all().derivative(id, c);
                return H{id};
            }, nb::arg("text"))
        .def("transitions", [](H h) {
                DerivativeTable table;
                {
                    Lock l(all().mutex);
                    table = all().derivatives(h.id);
                }
                nb::list out;
                for (std::size_t i = 0; i < table.targets.size(); ++i) {
                    if (table.targets[i] == Languages::nothing) continue;
                    CodePoint last = i + 1 < table.starts.size() ? table.starts[i + 1] - 1 : max_code_point;
                    out.append(nb::make_tuple(table.starts[i], last, H{table.targets[i]}));
                }
                return out;
            })
        .def_prop_ro("id", [](H h) { return h.id; })
        .def_prop_ro("nullable", [](H h) { Lock l(all().mutex); return all().nullable(h.id); })
        .def_prop_ro("is_nothing", [](H h) { Lock l(all().mutex); return all().is_nothing(h.id); })
        .def("matches", [](H h, nb::handle text) { auto points = code_points(text); Lock l(all().mutex); return all().matches(h.id, points); }, nb::arg("text"))
        .def("is_subset_of", [](H h, H o) { Lock l(all().mutex); return all().is_nothing(all().intersection({h.id, all().complement(o.id)})); }, nb::arg("other"))
        .def("is_disjoint_from", [](H h, H o) { Lock l(all().mutex); return all().is_nothing(all().intersection({h.id, o.id})); }, nb::arg("other"))
        .def("equivalent", [](H h, H o) {
                Lock l(all().mutex);
                return h.id == o.id || (all().is_nothing(all().intersection({h.id, all().complement(o.id)})) && all().is_nothing(all().intersection({o.id, all().complement(h.id)})));
            }, nb::arg("other"))
        .def("shortest", [](H h) -> nb::object {
                auto text = [&] { Lock l(all().mutex); return all().shortest(h.id); }();
                return text ? text_object(*text) : nb::none();
            })
        .def("count", [](H h, std::uint64_t limit) { Lock l(all().mutex); return all().count(h.id, limit); }, nb::arg("limit"))
        .def("words", [](H h, std::size_t limit) -> nb::object {
                auto words = [&] { Lock l(all().mutex); return all().words(h.id, limit); }();
                if (!words) return nb::none();
                nb::list out;
                for (const auto& w : *words) out.append(text_object(w));
                return out;
            }, nb::arg("limit"))
        .def("min_length", [](H h) -> std::optional<std::uint32_t> {
                Lock l(all().mutex);
                if (all().is_nothing(h.id)) return std::nullopt;
                return all().min_length(h.id);
            })
        .def("max_length", [](H h) -> std::optional<std::uint32_t> {
                Lock l(all().mutex);
                if (all().is_nothing(h.id)) return std::nullopt;
                return all().max_length(h.id);
            })
        .def("__eq__", [](H h, nb::handle other) { return nb::isinstance<H>(other) && nb::cast<H>(other).id == h.id; })
        .def("__hash__", [](H h) { return static_cast<Py_ssize_t>(h.id); })
        .def("__repr__", [](H h) { return "<Language " + std::to_string(h.id) + ">"; })
        .def("__getstate__", [](H h) { return nb::make_tuple(language_structure(h.id)); })
        .def("__setstate__", [](H& h, nb::handle state) {
            new (&h) H{language_from_structure(nb::cast<nb::sequence>(tuple_of(state, 1, "a language's state")[0]))};
        });
}

}  // namespace scansion
