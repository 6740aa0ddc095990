#pragma once

#include <napi.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "../backends.h"
#include "../error.h"
#include "../tensor_types.h"

namespace mizuoto {

/** The JavaScript exception of an Error: `NativeError` of native/addon.ts. */
Napi::Error toJs(Napi::Env env, const Error& error);
/** Any exception as an Error. Call inside a catch block. */
Error currentError();

/** Runs a binding's body; what it throws becomes a NativeError. */
template <typename Body>
Napi::Value guarded(Napi::Env env, Body&& body) {
    try {
        return body();
    } catch (const Napi::Error&) {
        throw;
    } catch (...) {
        throw toJs(env, currentError());
    }
}

// Readers throw InvalidArgument that names the argument.
std::string readString(const Napi::Value& value, const char* what);
double readNumber(const Napi::Value& value, const char* what);
int64_t readInteger(const Napi::Value& value, const char* what, int64_t least, int64_t most);
bool readBoolean(const Napi::Value& value, const char* what);
Napi::Object readObject(const Napi::Value& value, const char* what);
Napi::Array readArray(const Napi::Value& value, const char* what);
Shape readShape(const Napi::Value& value, const char* what);
bool isAbsent(const Napi::Value& value);
constexpr int64_t kMaxSafeInteger = (int64_t{1} << 53) - 1;

/** Bytes of a typed array that may stand for this type: its own, or raw bytes. Valid until JavaScript runs.
 */
struct Bytes {
    const uint8_t* data;
    size_t size;
};
Bytes readTensorData(const Napi::Value& value, ggml_type type, const char* what);
std::vector<uint8_t> copyTensorData(const Napi::Value& value, ggml_type type, const char* what);
/** The typed array of a type over a whole buffer. */
Napi::Value typedArray(Napi::Env env, ggml_type type, Napi::ArrayBuffer buffer);

Napi::Object toJs(Napi::Env env, const DeviceInfo& info);
Napi::Array toJs(Napi::Env env, const Shape& shape);

}  // namespace mizuoto
