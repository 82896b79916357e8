"""`_kernel.pyi` against the extension: the same classes, functions, methods and argument names."""

import ast
import inspect
import re
from pathlib import Path

import pytest

import scansion
from scansion import _kernel

STUB = ast.parse((Path(scansion.__file__).parent / "_kernel.pyi").read_text(encoding="utf-8"))
CLASSES = {node.name: node for node in STUB.body if isinstance(node, ast.ClassDef)}
FUNCTIONS = {node.name: node for node in STUB.body if isinstance(node, ast.FunctionDef)}
CONSTANTS = {node.target.id for node in STUB.body if isinstance(node, ast.AnnAssign)}
MEMBERS = [(name, item) for name, node in CLASSES.items() for item in node.body if isinstance(item, ast.FunctionDef)]


def public_names(holder):
    return {name for name in dir(holder) if not name.startswith("_")}


def arguments_of_stub(function):
    return [argument.arg for argument in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]


def arguments_of_extension(function):
    """Argument names as nanobind writes them in its signature, for each overload."""
    overloads = [signature for signature, *_ in getattr(function, "__nb_signature__", ())]
    return [re.findall(r"(?:\(|, )(\w+)(?=[:,)=]| =)", signature.split("->")[0]) for signature in overloads]


def decorators(function):
    return {node.id for node in function.decorator_list if isinstance(node, ast.Name)}


def test_the_same_names_at_the_top():
    assert public_names(_kernel) == set(CLASSES) | set(FUNCTIONS) | CONSTANTS


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_the_same_members(name):
    stub = {item.name for item in CLASSES[name].body if isinstance(item, ast.FunctionDef)}
    assert public_names(getattr(_kernel, name)) == {member for member in stub if not member.startswith("_")}
    assert [member for member in stub if not hasattr(getattr(_kernel, name), member)] == []


@pytest.mark.parametrize(("name", "item"), [pytest.param(name, item, id=f"{name}.{item.name}") for name, item in MEMBERS])
def test_the_same_kind_and_arguments(name, item):
    found = inspect.getattr_static(getattr(_kernel, name), item.name)
    if "property" in decorators(item):
        assert inspect.isdatadescriptor(found)
        return
    if item.name.startswith("__") and item.name != "__init__":
        return  # slots, whose arguments Python itself fixes
    overloads = arguments_of_extension(getattr(getattr(_kernel, name), item.name))
    if overloads:
        assert arguments_of_stub(item) in overloads


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_functions_take_the_same_arguments(name):
    overloads = arguments_of_extension(getattr(_kernel, name))
    if overloads:
        assert arguments_of_stub(FUNCTIONS[name]) in overloads


def test_constants_are_integers():
    assert all(isinstance(getattr(_kernel, name), int) for name in CONSTANTS)
