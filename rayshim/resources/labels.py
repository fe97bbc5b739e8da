"""The syntax of label selectors, which choose a machine on Ray. As there is only one machine here, they are only checked."""

import re

_NAME = r"[a-zA-Z0-9](?:[a-zA-Z0-9_.-]{0,61}[a-zA-Z0-9])?"
_PREFIX = rf"{_NAME}(?:\.{_NAME})*"
_SELECTOR = rf"!?{_NAME}|!?in\({_NAME}(?:, ?{_NAME})*\)"
_RULE = (
    "63 characters or less, beginning and ending with an alphanumeric character, with dashes (-), underscores (_), dots (.) and "
    "alphanumerics between."
)


def wrong_selector(selector):
    """The error message for a wrong {label: condition}, or None. A condition is "value", "!value", "in(a, b)" or "!in(a, b)"."""
    for key, condition in (selector or {}).items():
        if condition is None:
            return f"Label selector value must be string, but got {type(condition)}"
        prefix, slash, name = key.rpartition("/") if "/" in key else ("", "", key)
        if slash and (len(prefix) > 253 or not re.fullmatch(_PREFIX, prefix)):
            return f"Invalid label key prefix `{prefix}`. Prefix must be a series of DNS labels separated by dots (.)."
        if not re.fullmatch(_NAME, name):
            return f"Invalid label key name `{name}`. Name must be {_RULE}"
        if condition and not re.fullmatch(_SELECTOR, condition):
            return (
                f"Invalid label selector value `{condition}`. The label selector value should contain optional operators and a label "
                f"value. Supported operators are: ! and in. Value must be {_RULE}"
            )
    return None


def wrong_fallback(strategy):
    """The error message for a wrong list of {"label_selector": ...}, or None."""
    for option in strategy or ():
        if not isinstance(option, dict):
            return "Each element in fallback_strategy must be a dictionary."
        if not option:
            return "Empty dictionary found in `fallback_strategy`."
        for name in option:
            if name != "label_selector":
                return f"Unsupported option found: '{name}'. Only ['label_selector'] is currently supported."
        selector = option["label_selector"]
        if selector and not isinstance(selector, dict):
            return 'The value of "label_selector" must be a dictionary.'
        if wrong := wrong_selector(selector):
            return wrong
    return None
