"""Version numbers, in one place: the build reads `VERSION` from this file."""

VERSION = "0.1.0"  # of rayshim: of the package, and `rayshim.__version__`
RAY_VERSION = "2.60.0"  # of the Ray release whose API this is: `ray.__version__` under the alias
RAY_COMMIT = "b7f4259e944bf6959f721b106adc366ddfa0c356"  # of that release: `ray.__commit__`
