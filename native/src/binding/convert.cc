#include "convert.h"

#include <cmath>
#include <new>
#include <system_error>

namespace mizuoto {

Napi::Error toJs(Napi::Env env, const Error& error) {
    Napi::Error js = Napi::Error::New(env, error.message);
    js.Set("code", Napi::String::New(env, error.code));
    if (!error.details.empty()) {
        Napi::Object details = Napi::Object::New(env);
        for (const auto& [key, value] : error.details) {
            if (const auto* number = std::get_if<double>(&value)) {
                details.Set(key, Napi::Number::New(env, *number));
            } else {
                details.Set(key, Napi::String::New(env, std::get<std::string>(value)));
            }
        }
        js.Set("details", details);
    }
    return js;
}

Error currentError() {
    try {
        throw;
    } catch (const Error& error) {
        return error;
    } catch (const std::bad_alloc&) {
        return Error("OutOfHostMemory", "Host memory is used up.");
    } catch (const std::exception& error) {
        return Error("Internal", error.what());
    } catch (...) {
        return Error("Internal", "An unknown failure of the native layer.");
    }
}

namespace {

[[noreturn]] void invalid(const char* what, const char* wanted) {
    throw Error("InvalidArgument", std::string(what) + " must be " + wanted + ".",
                {detailOf("argument", what)});
}

}  // namespace

bool isAbsent(const Napi::Value& value) {
    return value.IsUndefined() || value.IsNull();
}

std::string readString(const Napi::Value& value, const char* what) {
    if (!value.IsString()) invalid(what, "a string");
    return value.As<Napi::String>().Utf8Value();
}

double readNumber(const Napi::Value& value, const char* what) {
    if (!value.IsNumber()) invalid(what, "a number");
    return value.As<Napi::Number>().DoubleValue();
}

int64_t readInteger(const Napi::Value& value, const char* what, int64_t least, int64_t most) {
    const double number = readNumber(value, what);
    if (!(number >= static_cast<double>(least) && number <= static_cast<double>(most)) ||
        std::floor(number) != number) {
        throw Error("InvalidArgument",
                    std::string(what) + " must be a whole number from " + std::to_string(least) + " to " +
                        std::to_string(most) + ".",
                    {detailOf("argument", what), detailOf("value", number)});
    }
    return static_cast<int64_t>(number);
}

bool readBoolean(const Napi::Value& value, const char* what) {
    if (!value.IsBoolean()) invalid(what, "true or false");
    return value.As<Napi::Boolean>().Value();
}

Napi::Object readObject(const Napi::Value& value, const char* what) {
    if (!value.IsObject() || value.IsFunction()) invalid(what, "an object");
    return value.As<Napi::Object>();
}

Napi::Array readArray(const Napi::Value& value, const char* what) {
    if (!value.IsArray()) invalid(what, "an array");
    return value.As<Napi::Array>();
}

Shape readShape(const Napi::Value& value, const char* what) {
    const Napi::Array array = readArray(value, what);
    if (array.Length() > kMaxRank) invalid(what, "an array of at most 4 dimensions");
    Shape shape;
    for (uint32_t i = 0; i < array.Length(); ++i)
        shape.push_back(readInteger(array.Get(i), what, 1, kMaxSafeInteger));
    return shape;
}

Bytes readTensorData(const Napi::Value& value, ggml_type type, const char* what) {
    if (!value.IsTypedArray()) invalid(what, "a typed array");
    const Napi::TypedArray array = value.As<Napi::TypedArray>();
    bool fits = array.TypedArrayType() == napi_uint8_array;
    switch (type) {
        case GGML_TYPE_F32:
            fits = fits || array.TypedArrayType() == napi_float32_array;
            break;
        case GGML_TYPE_F64:
            fits = fits || array.TypedArrayType() == napi_float64_array;
            break;
        case GGML_TYPE_I8:
            fits = fits || array.TypedArrayType() == napi_int8_array;
            break;
        case GGML_TYPE_I16:
            fits = fits || array.TypedArrayType() == napi_int16_array;
            break;
        case GGML_TYPE_I32:
            fits = fits || array.TypedArrayType() == napi_int32_array;
            break;
        case GGML_TYPE_I64:
            fits = fits || array.TypedArrayType() == napi_bigint64_array;
            break;
        default:
            break;
    }
    if (!fits) {
        throw Error("UnsupportedDType",
                    std::string(what) + " must be the typed array of " + ggml_type_name(type) +
                        ", or a Uint8Array of its bytes.",
                    {detailOf("argument", what), detailOf("dtype", ggml_type_name(type))});
    }
    // A detached buffer has no data and no bytes.
    const auto* data = static_cast<const uint8_t*>(array.ArrayBuffer().Data());
    return {data == nullptr ? nullptr : data + array.ByteOffset(), data == nullptr ? 0 : array.ByteLength()};
}

std::vector<uint8_t> copyTensorData(const Napi::Value& value, ggml_type type, const char* what) {
    const Bytes bytes = readTensorData(value, type, what);
    return {bytes.data, bytes.data + bytes.size};
}

Napi::Value typedArray(Napi::Env env, ggml_type type, Napi::ArrayBuffer buffer) {
    const size_t bytes = buffer.ByteLength();
    switch (type) {
        case GGML_TYPE_F32:
            return Napi::Float32Array::New(env, bytes / 4, buffer, 0);
        case GGML_TYPE_F64:
            return Napi::Float64Array::New(env, bytes / 8, buffer, 0);
        case GGML_TYPE_I8:
            return Napi::Int8Array::New(env, bytes, buffer, 0);
        case GGML_TYPE_I16:
            return Napi::Int16Array::New(env, bytes / 2, buffer, 0);
        case GGML_TYPE_I32:
            return Napi::Int32Array::New(env, bytes / 4, buffer, 0);
        case GGML_TYPE_I64:
            return Napi::BigInt64Array::New(env, bytes / 8, buffer, 0);
        default:
            return Napi::Uint8Array::New(env, bytes, buffer, 0);
    }
}

Napi::Array toJs(Napi::Env env, const Shape& shape) {
    Napi::Array array = Napi::Array::New(env, shape.size());
    for (size_t i = 0; i < shape.size(); ++i) {
        array.Set(static_cast<uint32_t>(i), Napi::Number::New(env, static_cast<double>(shape[i])));
    }
    return array;
}

Napi::Object toJs(Napi::Env env, const DeviceInfo& info) {
    Napi::Object caps = Napi::Object::New(env);
    caps.Set("async", Napi::Boolean::New(env, info.caps.async));
    caps.Set("hostBuffer", Napi::Boolean::New(env, info.caps.hostBuffer));
    caps.Set("bufferFromHostPtr", Napi::Boolean::New(env, info.caps.bufferFromHostPtr));
    caps.Set("events", Napi::Boolean::New(env, info.caps.events));
    Napi::Object object = Napi::Object::New(env);
    object.Set("name", Napi::String::New(env, info.name));
    object.Set("description", Napi::String::New(env, info.description));
    object.Set("kind", Napi::String::New(env, info.kind));
    object.Set("backend", Napi::String::New(env, info.backend));
    object.Set("freeBytes", Napi::Number::New(env, static_cast<double>(info.freeBytes)));
    object.Set("totalBytes", Napi::Number::New(env, static_cast<double>(info.totalBytes)));
    object.Set("caps", caps);
    return object;
}

}  // namespace mizuoto
