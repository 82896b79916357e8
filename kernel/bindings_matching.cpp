#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <thread>

#include "binding_support.h"
#include "matcher.h"
#include "program.h"
#include "vocabulary.h"

namespace scansion {

namespace {
std::uint32_t index_or(nb::handle h, std::uint32_t none) {
    long long v = nb::cast<long long>(h);
    if (v < 0) return none;
    if (v > 0xfffffff0LL) throw Malformed("a number in the program is too large");
    return static_cast<std::uint32_t>(v);
}

Value value_of(nb::handle h) {
    Value out;
    if (nb::isinstance<nb::tuple>(h) || nb::isinstance<nb::list>(h)) {
        for (nb::handle item : nb::cast<nb::sequence>(h)) {
            nb::tuple pair = tuple_of(item, 2, "program: an alternative");
            Alternative a{nb::cast<std::uint32_t>(pair[0]), {}};
            for (nb::handle e : nb::cast<nb::sequence>(pair[1])) a.events.push_back(nb::cast<std::uint32_t>(e));
            out.push_back(std::move(a));
        }
    } else if (std::uint32_t rule = index_or(h, no_rule); rule != no_rule) {
        out.push_back({rule, {}});
    }
    return out;
}

std::string utf8(nb::handle text) {
    Py_ssize_t n;
    const char* data = PyUnicode_AsUTF8AndSize(text.ptr(), &n);
    if (!data) throw nb::python_error();
    return {data, static_cast<std::size_t>(n)};
}

std::vector<std::uint32_t> numbers(nb::sequence list) {
    std::vector<std::uint32_t> out;
    out.reserve(nb::len(list));
    for (nb::handle h : list) out.push_back(nb::cast<std::uint32_t>(h));
    return out;
}

Program make_program(nb::sequence nodes, nb::sequence targets, nb::sequence rules, nb::sequence lexemes, nb::sequence objects,
                                      nb::sequence arrays, nb::sequence conditions, nb::sequence token_sets, nb::sequence punctuation,
                                      std::uint32_t start, bool canonical_keys) {
    Program program;
    Program* p = &program;
    std::vector<std::uint32_t> flat = numbers(nodes);
    if (flat.size() % 3) throw Malformed("program: nodes are not triples");
    for (std::size_t i = 0; i < flat.size(); i += 3) p->nodes.push_back({static_cast<Op>(flat[i]), flat[i + 1], flat[i + 2]});
    for (nb::handle h : targets) p->targets.push_back(index_or(h, no_limit));
    p->rules = numbers(rules);
    for (nb::handle h : lexemes) {
        nb::tuple t = tuple_of(h, 2, "program: a lexeme");
        p->lexemes.push_back(Lexemes::instance().start(nb::cast<LanguageHandle>(t[0]).id, static_cast<Encoding>(nb::cast<int>(t[1]))));
    }
    for (nb::handle h : objects) {
        nb::tuple t = tuple_of(h, 7, "program: an object");
        ObjectSpec& o = p->objects.emplace_back();
        o.any_order = nb::cast<int>(t[0]) == 1;
        for (nb::handle item : nb::cast<nb::sequence>(t[1])) {
            nb::tuple prop = tuple_of(item, 3, "program: a property");
            o.properties.push_back({Lexemes::instance().intern_key(utf8(prop[0])), value_of(prop[1]), nb::cast<bool>(prop[2])});
        }
        for (nb::handle item : nb::cast<nb::sequence>(t[2])) {
            nb::tuple group = tuple_of(item, 2, "program: a key group");
            LangId language = nb::cast<LanguageHandle>(group[0]).id;
            o.groups.push_back({language, Lexemes::instance().start(language, Encoding::json_string), value_of(group[1])});
        }
        o.min_properties = nb::cast<std::uint32_t>(t[3]);
        o.max_properties = index_or(t[4], no_limit);
        o.condition = index_or(t[5], no_condition);
        o.label = nb::cast<int>(t[6]);
    }
    for (nb::handle h : arrays) {
        nb::tuple t = tuple_of(h, 7, "program: an array");
        ArraySpec& a = p->arrays.emplace_back();
        for (nb::handle item : nb::cast<nb::sequence>(t[0])) a.prefix.push_back(value_of(item));
        a.rest = value_of(t[1]);
        a.min_items = nb::cast<std::uint32_t>(t[2]);
        a.max_items = index_or(t[3], no_limit);
        a.unique = nb::cast<bool>(t[4]);
        for (nb::handle item : nb::cast<nb::sequence>(t[5])) {
            nb::tuple c = tuple_of(item, 2, "program: a counter");
            a.counters.emplace_back(nb::cast<std::uint32_t>(c[0]), index_or(c[1], no_limit));
        }
        a.label = nb::cast<int>(t[6]);
    }
    p->conditions.assign(2, {0, 0, 0});
    for (nb::handle h : conditions) {
        nb::tuple t = tuple_of(h, 3, "program: a condition");
        p->conditions.push_back({nb::cast<std::uint32_t>(t[0]), nb::cast<std::uint32_t>(t[1]), nb::cast<std::uint32_t>(t[2])});
    }
    for (nb::handle set : token_sets) {
        auto& ranges = p->token_sets.emplace_back();
        for (nb::handle item : nb::cast<nb::sequence>(set)) {
            nb::tuple r = tuple_of(item, 2, "program: a range of tokens");
            ranges.emplace_back(nb::cast<std::uint32_t>(r[0]), nb::cast<std::uint32_t>(r[1]));
        }
    }
    std::vector<LexId> marks;
    for (nb::handle h : punctuation) marks.push_back(p->lexemes.at(nb::cast<std::uint32_t>(h)));
    if (marks.size() >= 8)
        p->punctuation = {marks[0], marks[1], marks[2], marks[3], marks[4], marks[5], marks[6], marks[7]};
    else if (!p->objects.empty() || !p->arrays.empty())
        throw Malformed("program: objects or arrays need punctuation");
    p->start = start;
    p->canonical_keys = canonical_keys;
    p->verify();
    return program;
}

void make_vocabulary(Vocabulary* self, nb::sequence tokens, nb::sequence eos, nb::sequence special) {
    std::vector<std::optional<std::string>> texts;
    texts.reserve(nb::len(tokens));
    for (nb::handle t : tokens) {
        if (t.is_none()) {
            texts.emplace_back();
            continue;
        }
        char* data;
        Py_ssize_t n;
        if (PyBytes_AsStringAndSize(t.ptr(), &data, &n)) throw nb::python_error();
        texts.emplace_back(std::string(data, static_cast<std::size_t>(n)));
    }
    auto e = numbers(eos), s = numbers(special);
    nb::gil_scoped_release release;
    new (self) Vocabulary(std::move(texts), std::move(e), std::move(s));
}

// What a buffer's numbers are, by the letter of Python's struct module; '?' where they are not single numbers in this machine's order.
char kind_of(const Py_buffer& view) {
    const char* format = view.format ? view.format : "";
    if (*format == '=' || *format == '@' || *format == (std::endian::native == std::endian::little ? '<' : '>')) ++format;
    return format[0] && !format[1] ? format[0] : '?';
}

// A row of a caller's int32 array, checked; holds the buffer while alive.
class MaskRows {
  public:
    explicit MaskRows(nb::handle array, std::uint32_t words) {
        if (PyObject_GetBuffer(array.ptr(), &view_, PyBUF_WRITABLE | PyBUF_STRIDES | PyBUF_FORMAT)) throw nb::python_error();
        const char kind = kind_of(view_);  // int32, signed or not
        bool ok = view_.itemsize == 4 && (kind == 'i' || kind == 'I' || kind == 'l' || kind == 'L') && (view_.ndim == 1 || view_.ndim == 2) && view_.strides[view_.ndim - 1] == 4;
        if (ok && static_cast<std::size_t>(view_.shape[view_.ndim - 1]) != words) {
            long long given = view_.shape[view_.ndim - 1];
            PyBuffer_Release(&view_);
            throw nb::value_error(("the mask has " + std::to_string(given) + " words a row, the vocabulary needs " + std::to_string(words) + ": use allocate_bitmask").c_str());
        }
        if (!ok) {
            PyBuffer_Release(&view_);
            throw nb::value_error("the mask must be a writable C-contiguous int32 array of shape (rows, words): use allocate_bitmask");
        }
    }
    ~MaskRows() { PyBuffer_Release(&view_); }
    MaskRows(const MaskRows&) = delete;
    MaskRows& operator=(const MaskRows&) = delete;
    std::size_t rows() const { return view_.ndim == 2 ? static_cast<std::size_t>(view_.shape[0]) : 1; }
    std::uint32_t* row(long long i) const {
        if (i < 0 || static_cast<std::size_t>(i) >= rows()) throw nb::index_error("the mask has no such row");
        char* base = static_cast<char*>(view_.buf);
        return reinterpret_cast<std::uint32_t*>(view_.ndim == 2 ? base + i * view_.strides[0] : base);
    }

  private:
    Py_buffer view_{};
};

// One row of four-byte numbers without gaps, checked; holds the buffer while alive.
class Buffer {
  public:
    Buffer(nb::handle array, int flags, std::string_view kinds, const char* wanted) {
        if (PyObject_GetBuffer(array.ptr(), &view_, flags)) throw nb::python_error();
        if (view_.itemsize == 4 && view_.ndim == 1 && kinds.find(kind_of(view_)) != std::string_view::npos) return;
        PyBuffer_Release(&view_);
        throw nb::type_error(wanted);
    }
    ~Buffer() { PyBuffer_Release(&view_); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    std::size_t size() const { return static_cast<std::size_t>(view_.shape[0]); }
    void* data() const { return view_.buf; }

  private:
    Py_buffer view_{};
};

std::string_view bytes_view(nb::handle data) {
    char* p;
    Py_ssize_t n;
    if (PyBytes_AsStringAndSize(data.ptr(), &p, &n)) throw nb::python_error();
    return {p, static_cast<std::size_t>(n)};
}

// Minus infinity wherever the row has no bit; tokens past its last word are not allowed either. Without branches: bits are noise to a predictor.
void forbid(float* logits, std::size_t count, const std::uint32_t* words, std::size_t word_count) {
    constexpr float never = -std::numeric_limits<float>::infinity();
    static constexpr auto bit_of = [] {
        std::array<std::uint32_t, 32> out{};
        for (std::uint32_t i = 0; i < 32; ++i) out[i] = std::uint32_t{1} << i;
        return out;
    }();
    const std::size_t whole = std::min(count / 32, word_count);
    for (std::size_t w = 0; w < whole; ++w) {
        const std::uint32_t bits = words[w];
        float* row = logits + 32 * w;
        if (bits == ~std::uint32_t{0}) continue;
        for (std::size_t i = 0; i < 32; ++i) row[i] = bits & bit_of[i] ? row[i] : never;
    }
    for (std::size_t i = 32 * whole; i < count; ++i)
        if (i / 32 >= word_count || !(words[i / 32] & bit_of[i % 32])) logits[i] = never;
}

void apply_one(nb::handle logits, nb::handle mask) {
    Buffer out(logits, PyBUF_WRITABLE | PyBUF_FORMAT | PyBUF_ND, "f", "the logits must be a C-contiguous float32 array of one dimension");
    Buffer bits(mask, PyBUF_FORMAT | PyBUF_ND, "iIlL", "a row of the mask must be a C-contiguous int32 array of one dimension");
    nb::gil_scoped_release release;
    forbid(static_cast<float*>(out.data()), out.size(), static_cast<const std::uint32_t*>(bits.data()), bits.size());
}

void fill_many(nb::sequence matchers, nb::handle mask) {
    std::vector<Matcher*> list;
    for (nb::handle h : matchers) list.push_back(h.is_none() ? nullptr : nb::cast<Matcher*>(h));
    std::uint32_t words = 0;
    for (Matcher* m : list) {
        if (!m) continue;
        std::uint32_t w = m->constraint()->vocabulary()->words();
        if (words && w != words) throw nb::value_error("the matchers of one batch must share a vocabulary size");
        words = w;
    }
    if (!words) return;
    MaskRows rows(mask, words);
    if (rows.rows() < list.size()) throw nb::value_error("the mask has fewer rows than there are matchers");
    nb::gil_scoped_release release;
    Matcher::fill_all(list, [&](std::size_t i) { return rows.row(static_cast<long long>(i)); });
}
}  // namespace

void bind_matching(nb::module_& m) {
    m.attr("TEXT") = static_cast<int>(Encoding::text);
    m.attr("JSON_STRING") = static_cast<int>(Encoding::json_string);
    const char* names[] = {"RET", "LEX", "CALL", "ALT", "TOKEN", "OBJECT", "ARRAY", "REPEAT", "FAIL", "BUDGET"};
    for (int i = 0; i < 10; ++i) m.attr(names[i]) = i;

    nb::class_<Program>(m, "Program")
        .def("__init__", [](Program* self, nb::sequence nodes, nb::sequence targets, nb::sequence rules, nb::sequence lexemes, nb::sequence objects,
                            nb::sequence arrays, nb::sequence conditions, nb::sequence token_sets, nb::sequence punctuation, std::uint32_t start,
                            bool canonical_keys, nb::sequence) {
                new (self) Program(make_program(nodes, targets, rules, lexemes, objects, arrays, conditions, token_sets, punctuation, start, canonical_keys));
            }, nb::arg("nodes"), nb::arg("targets"), nb::arg("rules"), nb::arg("lexemes"), nb::arg("objects"), nb::arg("arrays"), nb::arg("conditions"),
            nb::arg("token_sets"), nb::arg("punctuation"), nb::arg("start"), nb::arg("canonical_keys"), nb::arg("node_labels"));

    nb::class_<Vocabulary>(m, "Vocabulary", nb::is_weak_referenceable())
        .def("__init__", &make_vocabulary, nb::arg("tokens"), nb::arg("eos_token_ids"), nb::arg("special_token_ids"))
        .def_prop_ro("size", [](const Vocabulary& v) { return v.size(); })
        .def_prop_ro("eos_token_ids", [](const Vocabulary& v) { return v.eos(); })
        .def("token_bytes", [](const Vocabulary& v, std::uint32_t id) -> nb::object {
                if (id >= v.size()) throw nb::index_error("no such token id");
                const auto& t = v.text(id);
                if (!t) return nb::none();
                return nb::bytes(t->data(), t->size());
            }, nb::arg("token_id"))
        .def("rehearse_string", [](Vocabulary& v, LanguageHandle language, const std::string& text) { v.rehearse_string(language.id, text); },
             nb::arg("language"), nb::arg("text"), nb::call_guard<nb::gil_scoped_release>())
        .def("tokenize_greedy", [](const Vocabulary& v, nb::bytes text) -> nb::object {
                std::string_view s = bytes_view(text);
                nb::list out;
                const Trie& trie = v.trie();
                for (std::size_t i = 0; i < s.size();) {
                    std::uint32_t node = v.trie().child(0, static_cast<std::uint8_t>(s[i])), best = 0;
                    std::size_t length = 0, j = i + 1;
                    while (node) {
                        if (trie.nodes[node].token_count) best = node, length = j - i;
                        if (j >= s.size()) break;
                        node = v.trie().child(node, static_cast<std::uint8_t>(s[j++]));
                    }
                    if (!best) return nb::none();
                    out.append(trie.tokens[trie.nodes[best].first_token]);
                    i += length;
                }
                return out;
            }, nb::arg("text"));

    nb::class_<Constraint>(m, "Constraint")
        .def(nb::init<std::shared_ptr<Program>, std::shared_ptr<Vocabulary>>(), nb::arg("program"), nb::arg("vocabulary"), nb::call_guard<nb::gil_scoped_release>())
        .def_prop_ro("memory", [](Constraint& c) {
            auto tables = c.tables();
            std::lock_guard lock(tables->mutex);
            nb::dict d;
            d["states"] = tables->engine.state_count();
            d["stacks"] = tables->engine.stack_count();
            d["masks"] = tables->masks.count();
            d["bytes"] = tables->bytes();
            d["slice_bytes"] = c.vocabulary()->slice_bytes();
            d["slices"] = c.vocabulary()->slice_count();
            return d;
        });

    nb::class_<Matcher>(m, "Matcher")
        .def(nb::init<std::shared_ptr<Constraint>>(), nb::arg("constraint"))
        .def(nb::init<const Matcher&>(), nb::arg("other"))
        .def("fill_bitmask", [](Matcher& self, nb::handle mask, long long row) {
                MaskRows rows(mask, self.constraint()->vocabulary()->words());
                self.fill(rows.row(row));
            }, nb::arg("mask"), nb::arg("row") = 0)
        .def("allows", &Matcher::allows, nb::arg("token_id"))
        .def("accept", &Matcher::accept, nb::arg("token_id"))
        .def("accept_bytes", [](Matcher& self, nb::bytes data) { return self.accept_bytes(bytes_view(data)); }, nb::arg("data"))
        .def("bytes_accepted", [](Matcher& self, nb::bytes data) { return self.viable_prefix(bytes_view(data)); }, nb::arg("data"))
        .def("bytes_replaced", [](Matcher& self, nb::bytes text) -> std::optional<std::int64_t> {
                std::int64_t n = self.bytes_replaced(bytes_view(text));
                return n < 0 ? std::nullopt : std::optional(n);
            }, nb::arg("text"))
        .def_prop_ro("is_complete", &Matcher::complete)
        .def_prop_ro("is_finished", &Matcher::finished)
        .def_prop_ro("token_count", &Matcher::token_count)
        .def_prop_ro("counts_tokens", &Matcher::counts_tokens)
        .def_prop_ro("state_id", &Matcher::state)
        .def("rollback", [](Matcher& self, long long n) {
                if (n < 0 || !self.rollback(static_cast<std::size_t>(n)))
                    throw nb::value_error(("cannot roll back " + std::to_string(n) + " tokens: " + std::to_string(self.token_count()) + " were accepted").c_str());
            }, nb::arg("n_tokens"))
        .def("fork", &Matcher::fork)
        .def("reset", &Matcher::reset)
        .def("forced_bytes", [](Matcher& self, std::size_t limit) { std::string s = self.forced_bytes(limit); return nb::bytes(s.data(), s.size()); }, nb::arg("limit") = 4096)
        .def("forced_token", [](Matcher& self) -> std::optional<std::int64_t> {
                std::int64_t t = self.forced_token();
                return t < 0 ? std::nullopt : std::optional(t);
            })
        .def("only_token", [](Matcher& self) -> std::optional<std::int64_t> {
                std::int64_t t = self.only_token();
                return t < 0 ? std::nullopt : std::optional(t);
            })
        .def("follow", [](Matcher& self, const std::vector<std::uint32_t>& tokens, bool only) {
                nb::list out;
                for (bool alone : self.follow(tokens, only)) out.append(alone);
                return out;
            }, nb::arg("token_ids"), nb::arg("only") = false)
        .def("outlook", [](Matcher& self, std::size_t limit) {
                Matcher::Outlook o = self.outlook(limit);
                return nb::make_tuple(nb::bytes(o.forced.data(), o.forced.size()), nb::bytes(o.next.data(), o.next.size()), o.complete);
            }, nb::arg("limit") = 4096)
        .def("shortest_completion", [](Matcher& self, std::size_t limit) -> nb::object {
                std::string out;
                bool found;
                {
                    nb::gil_scoped_release release;
                    found = self.shortest_completion(out, limit);
                }
                if (!found) return nb::none();
                return nb::bytes(out.data(), out.size());
            }, nb::arg("limit") = 1 << 20)
        .def("shortest_cost", &Matcher::shortest_cost, nb::call_guard<nb::gil_scoped_release>())
        .def("next_bytes", [](Matcher& self) { std::string s = self.next_bytes(); return nb::bytes(s.data(), s.size()); })
        .def("expected", [](Matcher& self) {
                std::vector<std::tuple<std::uint32_t, std::int64_t, std::uint32_t>> out;
                for (const Expectation& e : self.expected()) out.emplace_back(e.point_kind, e.node_or_spec, e.detail);
                return out;
            });
    m.def("apply_bitmask", &apply_one, nb::arg("logits"), nb::arg("mask"));
    m.def("fill_bitmasks", &fill_many, nb::arg("matchers"), nb::arg("mask"));
}

}  // namespace scansion
