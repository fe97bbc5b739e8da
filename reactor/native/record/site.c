/* Where in the user's program a call is made. In C, because the interpreter's internal headers are.

   The interpreter's own frames are read where they are known: in CPython 3.11 to 3.14. In other releases the public API gives the same, from frame
   objects, which have to be made for it: a call costs about 0.1 us more. (In 3.10, which has no PyFrame_GetLasti, a site is a line.) */
#include <patchlevel.h>
#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030F0000 && !defined(REACTOR_PUBLIC_FRAMES)
#define INTERNAL_FRAMES
#define Py_BUILD_CORE
#endif
#include <Python.h>
#ifdef INTERNAL_FRAMES
#if PY_VERSION_HEX >= 0x030E0000
#include <internal/pycore_interpframe.h>
#else
#include <internal/pycore_frame.h>
#endif
#include <internal/pycore_code.h>
#if PY_VERSION_HEX < 0x030C0000
#define NEED_OPCODE_TABLES
#include <internal/pycore_opcode.h>
#include <opcode.h>
#endif
#else
#include <frameobject.h>
#endif
#include <string.h>
#include "record/site.h"

/* Code under this directory belongs to the layer above, not to its user. */
static char own[1024];
static Py_ssize_t own_size = 0;

void reactor_own_directory(const char* path) {
  own_size = (Py_ssize_t)strlen(path);
  if (own_size >= (Py_ssize_t)sizeof own) own_size = 0;
  memcpy(own, path, (size_t)own_size);
}

static int is_own(PyCodeObject* code) {
  static PyObject* last; /* of the own ones */
  PyObject* file = code->co_filename;
  if ((PyObject*)code == last) return 1;
  if (!own_size || !PyUnicode_IS_ASCII(file) || PyUnicode_GET_LENGTH(file) <= own_size ||
      memcmp(PyUnicode_1BYTE_DATA(file), own, (size_t)own_size) != 0)
    return 0;
  Py_XDECREF(last);
  last = Py_NewRef((PyObject*)code);
  return 1;
}

#ifdef INTERNAL_FRAMES
static PyCodeObject* code_of(struct _PyInterpreterFrame* f) {
#if PY_VERSION_HEX >= 0x030E0000
  PyObject* executable = PyStackRef_AsPyObjectBorrow(f->f_executable); /* None in an entry frame */
  return executable && PyCode_Check(executable) ? (PyCodeObject*)executable : NULL;
#elif PY_VERSION_HEX >= 0x030D0000
  return PyCode_Check(f->f_executable) ? (PyCodeObject*)f->f_executable : NULL; /* None in an entry frame */
#elif PY_VERSION_HEX >= 0x030C0000
  /* An entry frame has code of the interpreter's own. */
  return f->owner != FRAME_OWNED_BY_CSTACK && PyCode_Check((PyObject*)f->f_code) ? f->f_code : NULL;
#else
  return f->f_code;
#endif
}

/* Where the interpreter itself runs the callee, the caller's position is already behind the call's inline caches; where C code
   does, it is the call. The same call may be made either way, and must be one call site. */
static int caches_passed(struct _PyInterpreterFrame* callee) {
#if PY_VERSION_HEX >= 0x030D0000
  (void)callee;
  return 0;
#elif PY_VERSION_HEX >= 0x030C0000
  return callee && callee->owner != FRAME_OWNED_BY_CSTACK ? INLINE_CACHE_ENTRIES_CALL : 0;
#else
  return callee && !callee->is_entry ? INLINE_CACHE_ENTRIES_CALL : 0;
#endif
}

/* In 3.11 a specialised PRECALL makes the call that the CALL behind it would have made. */
static int to_call(PyCodeObject* code, int at) {
#if PY_VERSION_HEX < 0x030C0000
  if (at >= 0 && _PyOpcode_Deopt[_Py_OPCODE(_PyCode_CODE(code)[at])] == PRECALL) return 1 + INLINE_CACHE_ENTRIES_PRECALL;
#endif
  (void)code;
  (void)at;
  return 0;
}
#endif

void reactor_call_site(PyCodeObject** code, int* instruction) {
#ifdef INTERNAL_FRAMES
#if PY_VERSION_HEX >= 0x030D0000
  struct _PyInterpreterFrame* f = PyThreadState_GET()->current_frame;
#else
  struct _PyInterpreterFrame* f = PyThreadState_GET()->cframe->current_frame;
#endif
  struct _PyInterpreterFrame* callee = NULL;
  for (; f; callee = f, f = f->previous) {
    PyCodeObject* c = code_of(f);
    if (!c || is_own(c)) continue;
    *code = c;
    *instruction =
        (_PyInterpreterFrame_LASTI(f) - caches_passed(callee) + to_call(c, _PyInterpreterFrame_LASTI(f))) * (int)sizeof(_Py_CODEUNIT);
    return;
  }
  *code = NULL;
  *instruction = 0;
#else
  PyFrameObject* f = PyEval_GetFrame();
  Py_XINCREF(f);
  *code = NULL;
  *instruction = 0;
  while (f) {
    PyCodeObject* c = PyFrame_GetCode(f);
    Py_DECREF(c); /* the frame, which runs, keeps it */
    if (!is_own(c)) {
      *code = c;
#if PY_VERSION_HEX >= 0x030B0000
      *instruction = PyFrame_GetLasti(f);
#else
      *instruction = PyFrame_GetLineNumber(f);
#endif
      Py_DECREF(f);
      return;
    }
    PyFrameObject* back = PyFrame_GetBack(f);
    Py_DECREF(f);
    f = back;
  }
#endif
}

int reactor_site_line(PyCodeObject* code, int instruction) {
#if PY_VERSION_HEX >= 0x030B0000
  return PyCode_Addr2Line(code, instruction);
#else
  (void)code;
  return instruction;
#endif
}
