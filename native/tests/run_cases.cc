/** Runs the cases of the files that are linked with it: no arguments. */
#include <cstdio>
#include <exception>

#include "check.h"
#include "checkpoint/text.h"
#include "error.h"

namespace check {

void throws(const char* file, int line, const char* code, std::initializer_list<std::string_view> parts,
            const std::function<void()>& body) {
    try {
        body();
    } catch (const mizuoto::Error& error) {
        if (error.code != code)
            fail(file, line, "code is " + error.code + ", not " + code + ": " + error.message);
        for (const std::string_view part : parts) {
            if (error.message.find(part) == std::string::npos) {
                fail(file, line, "the message lacks '" + std::string(part) + "': " + error.message);
            }
        }
        const std::string& text = error.message;
        const bool sentence = text.size() > 20 && text.size() < 1200 && text.back() == '.' &&
                              text.find('\n') == std::string::npos &&
                              mizuoto::findInvalidUtf8(text) == std::string::npos;
        if (!sentence) fail(file, line, "the message is no clean sentence: " + text);
        return;
    }
    fail(file, line, std::string("nothing was thrown, ") + code + " was expected");
}

int runAll() {
    int passed = 0;
    int failed = 0;
    for (const Case& test : cases()) {
        failures().clear();
        try {
            test.body();
        } catch (const std::exception& error) {
            fail(test.name, 0, std::string("threw: ") + error.what());
        }
        if (failures().empty()) {
            passed++;
            continue;
        }
        failed++;
        std::printf("FAILED: %s\n", test.name);
        for (const std::string& failure : failures()) std::printf("  %s\n", failure.c_str());
    }
    std::printf("%d passed, %d failed\n", passed, failed);
    return failed + (passed == 0 ? 1 : 0);
}

}  // namespace check

int main() {
    return check::runAll() == 0 ? 0 : 1;
}
