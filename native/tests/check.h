#pragma once

#include <functional>
#include <initializer_list>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

/** A self-checking test program in one header: cases register themselves, `runAll` counts and names failures.
 */
namespace check {

struct Case {
    const char* name;
    void (*body)();
};

inline std::vector<Case>& cases() {
    static std::vector<Case> all;
    return all;
}

struct Register {
    Register(const char* name, void (*body)()) { cases().push_back({name, body}); }
};

/** Failures of the running case. */
inline std::vector<std::string>& failures() {
    static std::vector<std::string> all;
    return all;
}

inline void fail(const char* file, int line, const std::string& what) {
    std::ostringstream text;
    text << file << ":" << line << ": " << what;
    failures().push_back(text.str());
}

template <typename A, typename B>
void equal(const char* file, int line, const char* expression, const A& found, const B& wanted) {
    if (found == wanted) return;
    std::ostringstream text;
    text << expression << " is " << found << ", not " << wanted;
    fail(file, line, text.str());
}

/**
 * `body` must throw mizuoto::Error with this code; its message is one sentence in one line that holds every
 * one of `parts`.
 */
void throws(const char* file, int line, const char* code, std::initializer_list<std::string_view> parts,
            const std::function<void()>& body);

/** Runs all cases and prints the count; returns the number of failed ones. */
int runAll();

}  // namespace check

#define TEST_CASE(name)                                        \
    static void name();                                        \
    static const check::Register register_##name(#name, name); \
    static void name()

#define CHECK(expression) \
    if (!(expression)) check::fail(__FILE__, __LINE__, #expression " is false")
#define CHECK_EQUAL(found, wanted) check::equal(__FILE__, __LINE__, #found, found, wanted)
/** CHECK_THROWS(code, ({"part", "part"}), statement) */
#define CHECK_THROWS(code, parts, ...)                                                                  \
    check::throws(__FILE__, __LINE__, code, std::initializer_list<std::string_view> CHECK_UNWRAP parts, \
                  [&] { __VA_ARGS__; })
#define CHECK_UNWRAP(...) __VA_ARGS__
