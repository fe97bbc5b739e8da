/* A module that shows what record/site.c gives, for reactor/tests/test_site.py. Its name is PROBE. */
#include "record/site.h"

#define JOINED(a, b) a##b
#define INIT(name) JOINED(PyInit_, name)
#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)

static PyObject* site(PyObject* module, PyObject* unused) {
  PyCodeObject* code;
  int instruction;
  (void)module;
  (void)unused;
  reactor_call_site(&code, &instruction);
  if (!code) Py_RETURN_NONE;
  return Py_BuildValue("Oii", code, instruction, reactor_site_line(code, instruction));
}

static PyObject* own_directory(PyObject* module, PyObject* path) {
  const char* text = PyUnicode_AsUTF8(path);
  (void)module;
  if (!text) return NULL;
  reactor_own_directory(text);
  Py_RETURN_NONE;
}

static PyMethodDef functions[] = {{"site", site, METH_NOARGS, NULL}, {"own_directory", own_directory, METH_O, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef definition = {.m_base = PyModuleDef_HEAD_INIT, .m_name = TEXT(PROBE), .m_size = -1, .m_methods = functions};

PyMODINIT_FUNC INIT(PROBE)(void) { return PyModule_Create(&definition); }
