// SPDX-License-Identifier: Apache-2.0
// A Python extension that leaks.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

static PyObject* lose_memory(PyObject* self, PyObject* none) {
  (void)self, (void)none;
  char* block = malloc(3001);
  __asm__ volatile("" : : "r"(block) : "memory");
  Py_RETURN_NONE;
}

// Forgets that it has a reference.
static PyObject* lose_reference(PyObject* self, PyObject* object) {
  (void)self;
  Py_INCREF(object);
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {{"lose_memory", lose_memory, METH_NOARGS, NULL},
                                {"lose_reference", lose_reference, METH_O, NULL},
                                {NULL, NULL, 0, NULL}};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "leaky", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_leaky(void) { return PyModule_Create(&module); }
