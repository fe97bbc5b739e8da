"""The namespace that a driver gives when it joins a session that runs."""

import pytest

from compat_tests.test_joining_drivers import run

pytestmark = pytest.mark.needs_processes


@pytest.mark.parametrize("given, error", [
    ("''", 'ValueError: "" is not a valid namespace. Pass None to not specify a namespace.'),
    ("5", "TypeError: namespace must be None or a string."),
    ("b'x'", "TypeError: namespace must be None or a string."),
])
def test_a_namespace_that_is_none_is_refused_to_who_joins(scripts, given, error):
    found, = run(scripts, f"""
code = f"import ray; ray.init(address='{{ADDRESS}}', namespace={given})"
done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
print(done.stderr.strip().splitlines()[-1])
""")
    assert found.startswith(error)


def test_who_joins_with_none_has_a_namespace_of_its_own(scripts):
    found, = run(scripts, """
code = f'import ray; ray.init(address="{ADDRESS}", namespace=None, log_to_driver=False); print(len(ray.get_runtime_context().namespace))'
print(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip())
""")
    assert found == "36"
