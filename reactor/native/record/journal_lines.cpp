#include "record/journal_lines.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <map>
#include <string>
#include <unordered_map>

#include "codec/digest.h"

namespace reactor {
namespace {

// ---- checksums: zlib's CRC-32, eight bytes at a time

constexpr auto kCrc = [] {
  std::array<std::array<uint32_t, 256>, 8> t{};
  for (uint32_t n = 0; n < 256; ++n) {
    uint32_t c = n;
    for (int k = 0; k < 8; ++k) c = c & 1 ? 0xedb88320u ^ (c >> 1) : c >> 1;
    t[0][n] = c;
  }
  for (size_t k = 1; k < 8; ++k)
    for (size_t n = 0; n < 256; ++n) t[k][n] = t[0][t[k - 1][n] & 0xff] ^ (t[k - 1][n] >> 8);
  return t;
}();

uint32_t crc32(uint32_t crc, const char* p, size_t n) {
  crc = ~crc;
  for (; n >= 8; n -= 8, p += 8) {
    uint64_t v;
    memcpy(&v, p, 8);
    v ^= crc;
    crc = 0;
    for (size_t k = 0; k < 8; ++k) crc ^= kCrc[7 - k][(v >> (8 * k)) & 0xff];
  }
  for (; n; --n, ++p) crc = kCrc[0][(crc ^ uint8_t(*p)) & 0xff] ^ (crc >> 8);
  return ~crc;
}

// ---- the file

class LineFile {
 public:
  explicit LineFile(int file) : file_(file) {
    struct stat st;
    if (fstat(file, &st) == 0) at_ = begin_ = uint64_t(st.st_size);
  }
  ~LineFile() {
    if (part_) munmap(part_, size_);
  }
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;

  // `body`: a JSON object; its "}" gives way to the checksum of all bodies so far.
  void write(const std::string& body) {
    char end[32];
    const uint32_t sum = crc32(sum_, body.data(), body.size());
    const auto more = size_t(snprintf(end, sizeof end, ", \"sum\": \"%08x\"}", sum));
    const size_t length = body.size() - 1 + more;  // without the end of the line
    if (!part_ || at_ - begin_ + length + 1 > size_) map(length + 1);
    if (part_) {
      char* to = part_ + (at_ - begin_);
      std::copy_n(end, more, std::copy_n(body.data(), body.size() - 1, to));
      std::atomic_ref(to[length]).store('\n', memory_order_release);
    } else {
      const std::string line = body.substr(0, body.size() - 1) + end + "\n";
      if (pwrite(file_, line.data(), line.size(), off_t(at_)) != ssize_t(line.size())) fail();
    }
    sum_ = sum;
    at_ += length + 1;
  }

 private:
  static constexpr uint64_t kPart = 1 << 18;

  [[noreturn]] static void fail() {
    PyErr_SetFromErrno(PyExc_OSError);
    throw nb::python_error();
  }
  // Maps a part with room for `least` bytes; none if the file system cannot allocate or map.
  void map(uint64_t least) {
    if (part_) munmap(part_, size_);
    part_ = nullptr;
    if (!maps_) return;
    const uint64_t page = uint64_t(sysconf(_SC_PAGESIZE));
    begin_ = at_ / page * page;
    size_ = (std::max(kPart, least + page) + page - 1) / page * page;
    const int error = posix_fallocate(file_, off_t(begin_), off_t(size_));
    if (error && error != EOPNOTSUPP && error != EINVAL && error != ENODEV) {
      errno = error;
      fail();
    }
    void* found = error ? MAP_FAILED : mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, file_, off_t(begin_));
    if (found == MAP_FAILED) maps_ = false;
    else part_ = static_cast<char*>(found);
  }

  const int file_;
  uint64_t at_ = 0, begin_ = 0, size_ = 0;  // where the next line begins; the mapped part
  char* part_ = nullptr;
  bool maps_ = true;
  uint32_t sum_ = 0;
};

// ---- JSON

void quote(std::string& out, const char* text, size_t n) {
  out += '"';
  for (size_t i = 0; i < n; ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == '"' || c == '\\') (out += '\\') += char(c);
    else if (c >= 0x20) out += char(c);  // UTF-8 is JSON as it is
    else {
      char escaped[8];
      snprintf(escaped, sizeof escaped, "\\u%04x", c);
      out += escaped;
    }
  }
  out += '"';
}

void quote(std::string& out, PyObject* text) {
  Py_ssize_t n = 0;
  if (const char* utf8 = PyUnicode_Check(text) ? PyUnicode_AsUTF8AndSize(text, &n) : nullptr) return quote(out, utf8, size_t(n));
  PyErr_Clear();  // lone surrogates
  const Owned bytes(PyUnicode_Check(text) ? PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace") : PyObject_ASCII(text));
  if (!bytes) throw nb::python_error();
  if (PyBytes_Check(bytes.get())) quote(out, PyBytes_AS_STRING(bytes.get()), size_t(PyBytes_GET_SIZE(bytes.get())));
  else quote(out, bytes.get());
}

void add_tag(std::string& out, PyObject* tag) {
  out += '[';
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tag); ++i) {
    if (i) out += ", ";
    out += std::to_string(PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(tag, i)));
  }
  out += ']';
}

void add_hex(std::string& out, uint64_t value) {
  char text[24];
  snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  out += text;
}

// ---- texts of the commonest values, the same as `short_text` makes; false: of another kind

constexpr Py_ssize_t kInArray = 4;
constexpr size_t kMost = 400;

void add_float(std::string& out, double value, bool shortly = false) {
  char* text =
      shortly ? PyOS_double_to_string(value, 'g', 6, 0, nullptr) : PyOS_double_to_string(value, 'r', 0, Py_DTSF_ADD_DOT_0, nullptr);
  if (!text) throw nb::python_error();
  out += text;
  PyMem_Free(text);
}

struct ItemType {
  const char* name;
  char kind;  // of its items: 'f'loat, 'i'nteger, 'u'nsigned, 'b'ool
};
ItemType item_type(const char* format) {
  if (!format || !format[0] || format[1]) return {nullptr, 0};
  switch (format[0]) {
    case '?': return {"bool", 'b'};
    case 'b': return {"int8", 'i'};
    case 'B': return {"uint8", 'u'};
    case 'h': return {"int16", 'i'};
    case 'H': return {"uint16", 'u'};
    case 'i': return {"int32", 'i'};
    case 'I': return {"uint32", 'u'};
    case 'l': return {sizeof(long) == 8 ? "int64" : "int32", 'i'};
    case 'L': return {sizeof(long) == 8 ? "uint64" : "uint32", 'u'};
    case 'q': return {"int64", 'i'};
    case 'Q': return {"uint64", 'u'};
    case 'f': return {"float32", 'f'};
    case 'd': return {"float64", 'f'};
    default: return {nullptr, 0};
  }
}

template <class T> T load(const char* at) {
  T value;
  memcpy(&value, at, sizeof value);
  return value;
}

double load_float(const char* at, Py_ssize_t size) { return size == 4 ? double(load<float>(at)) : load<double>(at); }
uint64_t load_unsigned(const char* at, Py_ssize_t size) {
  return size == 1 ? load<uint8_t>(at) : size == 2 ? load<uint16_t>(at) : size == 4 ? load<uint32_t>(at) : load<uint64_t>(at);
}
int64_t load_integer(const char* at, Py_ssize_t size) {
  return size == 1 ? load<int8_t>(at) : size == 2 ? load<int16_t>(at) : size == 4 ? load<int32_t>(at) : load<int64_t>(at);
}

void add_item(std::string& out, char kind, const char* at, Py_ssize_t size, bool short_floats) {
  if (kind == 'b') out += *at ? "True" : "False";
  else if (kind == 'u') out += std::to_string(load_unsigned(at, size));
  else if (kind == 'i') out += std::to_string(load_integer(at, size));
  else add_float(out, load_float(at, size), short_floats);
}

bool add_array(std::string& out, PyObject* value) {
  Py_buffer b;
  if (PyObject_GetBuffer(value, &b, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) != 0) {
    PyErr_Clear();
    return false;
  }
  const ItemType type = item_type(b.format);
  if (type.name) {
    out += type.name;
    out += '[';
    for (int i = 0; i < b.ndim; ++i) (out += i ? ", " : "") += std::to_string(b.shape[i]);
    out += "] [";
    const Py_ssize_t size = b.itemsize ? b.len / b.itemsize : 0, shown = std::min(size, kInArray);
    for (Py_ssize_t i = 0; i < shown; ++i) {
      if (i) out += ", ";
      add_item(out, type.kind, static_cast<const char*>(b.buf) + i * b.itemsize, b.itemsize, shown == kInArray);
    }
    if (size > kInArray) {
      out += ", ...] #";
      add_hex(out, hash_bytes(static_cast<const uint8_t*>(b.buf), uint64_t(b.len), 0));
    } else {
      out += ']';
    }
  }
  PyBuffer_Release(&b);
  return type.name != nullptr;
}

bool add_text(std::string& out, PyObject* value) {
  if (value == Py_None) return out += "None", true;
  if (PyBool_Check(value)) return out += value == Py_True ? "True" : "False", true;
  if (PyFloat_CheckExact(value)) return add_float(out, PyFloat_AS_DOUBLE(value)), true;
  if (PyLong_CheckExact(value)) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (!overflow) out += std::to_string(number);
    return !overflow;
  }
  if (PyUnicode_CheckExact(value)) {
    if (!PyUnicode_IS_COMPACT_ASCII(value) || PyUnicode_GET_LENGTH(value) > 200) return false;
    const Owned shown(PyObject_Repr(value));
    Py_ssize_t n = 0;
    const char* text = shown ? PyUnicode_AsUTF8AndSize(shown.get(), &n) : nullptr;
    if (!text) throw nb::python_error();
    return out.append(text, size_t(n)), true;
  }
  return strcmp(Py_TYPE(value)->tp_name, "numpy.ndarray") == 0 && add_array(out, value);
}

// ---- the lines of calls

class CallLines {
 public:
  // whose(number) -> (fields "actor" and "life", class as JSON, whether both are known now); short_text and error_text: see _core.pyi;
  // is_users(file) -> whether its code is the user's.
  CallLines(nb::object file, nb::object whose, nb::object short_text, nb::object error_text, nb::object is_users)
      : owner_(file), file_(nb::cast<LineFile&>(file)), whose_of_(whose), short_text_(short_text), error_text_(error_text),
        is_users_(is_users) {}
  CallLines(const CallLines&) = delete;
  CallLines& operator=(const CallLines&) = delete;

  void call_sent(nb::handle tag, nb::handle name) {
    const std::string& place = site();  // may run code of Python: other threads may have used `line_`
    line_.assign("{\"made\": ");
    add_tag(line_, tag.ptr());
    line_ += ", \"name\": ";
    if (name.is_none()) line_ += "null";
    else quote(line_, name.ptr());
    line_ += ", \"site\": ";
    line_ += place;
    line_ += concurrent;
    line_ += '}';
    file_.write(line_);
  }

  void call_started(uint32_t number, nb::handle tag, nb::handle) {
    const Whose& whose = whose_of(number);
    line_.assign("{\"began\": ");
    add_tag(line_, tag.ptr());
    ((line_ += ", ") += whose.fields) += '}';
    file_.write(line_);
  }

  void executed(uint32_t number, nb::handle method, nb::handle tag, uint64_t given_digest, uint64_t digest, nb::handle given,
                nb::handle value, nb::handle error, bool cancelled, bool several) {
    const Whose whose = whose_of(number);
    std::string line = "{\"ran\": ";  // its own: the texts of values are the program's code, which may make calls
    add_tag(line, tag.ptr());
    (((line += ", ") += whose.fields) += ", \"class\": ") += whose.class_name;
    line += ", \"name\": ";
    add_name(line, method.ptr());
    line += ", \"given\": \"";
    add_hex(line, given_digest);
    line += "\", \"digest\": \"";
    add_hex(line, digest);
    line += "\", \"args\": [";
    add_given(line, given.ptr());
    line += "], \"value\": ";
    if (error.is_none()) {
      add_value(line, value.ptr());
      line += ", \"error\": null";
    } else {
      line += "null, \"error\": ";
      quote(line, error_text_(error).ptr());
    }
    line += cancelled ? ", \"cancelled\": true" : ", \"cancelled\": false";
    line += several ? ", \"several\": true}" : ", \"several\": false}";
    file_.write(line);
  }

  void forget(uint32_t number) { whose_.erase(number); }

  std::string concurrent;  // the fields of this process's actor, if that runs several calls at once

 private:
  struct Whose {
    std::string fields, class_name;
  };
  const Whose& whose_of(uint32_t number) {
    auto found = whose_.find(number);
    if (found != whose_.end()) return found->second;
    const nb::object fields = whose_of_(number);
    Whose& place = nb::cast<bool>(fields[2]) ? whose_[number] : unknown_;
    place = {nb::cast<nb::str>(fields[0]).c_str(), nb::cast<nb::str>(fields[1]).c_str()};
    return place;
  }

  void add_name(std::string& line, PyObject* method) {
    static PyObject* attribute = PyUnicode_InternFromString("__name__");
    Owned name(PyObject_GetAttr(method, attribute));
    if (!name || !PyUnicode_Check(name.get())) {
      PyErr_Clear();
      name.reset(PyObject_Str(method));
      if (!name) throw nb::python_error();
    }
    quote(line, name.get());
  }

  void add_value(std::string& line, PyObject* value) {
    std::string text;
    if (add_text(text, value)) {
      if (text.size() > kMost) text.replace(kMost - 3, std::string::npos, "...");
      quote(line, text.data(), text.size());
    } else {
      quote(line, short_text_(nb::handle(value)).ptr());
    }
  }

  // (args, kwargs or None), or None.
  void add_given(std::string& line, PyObject* given) {
    if (given == Py_None) return;
    PyObject *args = PyTuple_GET_ITEM(given, 0), *kwargs = PyTuple_GET_ITEM(given, 1);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) {
      if (i) line += ", ";
      add_value(line, PyTuple_GET_ITEM(args, i));
    }
    if (kwargs == Py_None) return;
    bool first = PyTuple_GET_SIZE(args) == 0;
    for (auto [name, value] : nb::borrow<nb::dict>(kwargs)) {
      if (!std::exchange(first, false)) line += ", ";
      const nb::object text = nb::str("{}={}").attr("format")(name, short_text_(value));
      quote(line, text.ptr());
    }
  }

  // The innermost frame of the user's code, as JSON; a program makes many calls at one place.
  const std::string& site() {
    Owned frame = Owned::share(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
    while (frame) {
      auto* f = reinterpret_cast<PyFrameObject*>(frame.get());
      const Owned code(reinterpret_cast<PyObject*>(PyFrame_GetCode(f)));
      auto users = users_.find(code.get());
      if (users == users_.end()) {
        if (users_.size() > kMostCodes) {
          users_.clear();
          sites_.clear();
        }
        auto* c = reinterpret_cast<PyCodeObject*>(code.get());
        const bool found = nb::cast<bool>(is_users_(nb::handle(c->co_filename)));
        users = users_.emplace(code.get(), Known{Owned::share(code.get()), found}).first;
      }
      if (users->second.is_users) return site_of(code.get(), PyFrame_GetLineNumber(f));
      frame.reset(reinterpret_cast<PyObject*>(PyFrame_GetBack(f)));
    }
    static const std::string unknown = "\"?\"";
    return unknown;
  }
  const std::string& site_of(PyObject* code, int line) {
    auto found = sites_.find({code, line});
    if (found != sites_.end()) return found->second;
    const nb::object text = nb::str("{}:{}").attr("format")(nb::handle(reinterpret_cast<PyCodeObject*>(code)->co_filename), line);
    std::string& place = sites_[{code, line}];
    quote(place, text.ptr());
    return place;
  }

  struct Known {
    Owned code;  // which keeps its address
    bool is_users;
  };
  static constexpr size_t kMostCodes = 10000;
  const nb::object owner_;
  LineFile& file_;
  const nb::object whose_of_, short_text_, error_text_, is_users_;
  std::unordered_map<uint32_t, Whose> whose_;
  Whose unknown_;
  std::unordered_map<PyObject*, Known> users_;
  std::map<std::pair<PyObject*, int>, std::string> sites_;
  std::string line_;
};

}  // namespace

void bind_journal_lines(nb::module_& m) {
  nb::class_<LineFile>(m, "LineFile")
      .def(nb::init<int>(), nb::arg("file"))
      .def("write", [](LineFile& f, nb::bytes body) { f.write(std::string(body.c_str(), body.size())); }, nb::arg("body"));
  nb::class_<CallLines>(m, "CallLines")
      .def(nb::init<nb::object, nb::object, nb::object, nb::object, nb::object>(), nb::arg("file"), nb::arg("whose"), nb::arg("short_text"),
           nb::arg("error_text"), nb::arg("is_users"))
      .def("call_sent", &CallLines::call_sent, nb::arg("tag"), nb::arg("name").none())
      .def("call_started", &CallLines::call_started, nb::arg("number"), nb::arg("tag"), nb::arg("how"))
      .def("executed", &CallLines::executed, nb::arg("number"), nb::arg("method").none(), nb::arg("tag"), nb::arg("given_digest"),
           nb::arg("digest"), nb::arg("given").none(), nb::arg("value").none(), nb::arg("error").none(), nb::arg("cancelled"),
           nb::arg("several"))
      .def("forget", &CallLines::forget, nb::arg("number"))
      .def("set_concurrent", [](CallLines& c, nb::str fields) { c.concurrent = fields.c_str(); }, nb::arg("fields"));
}

}  // namespace reactor
