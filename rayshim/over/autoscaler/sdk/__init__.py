"""Asking the autoscaler for nodes: there is none, as on a Ray cluster that was started without one."""

from rayshim.errors.user_code import at


def request_resources(num_cpus=None, bundles=None, bundle_label_selectors=None):
    """Checks its arguments, as Ray does. Nothing else happens: one machine does not grow."""
    if num_cpus is not None and not isinstance(num_cpus, int):
        raise TypeError(_message("num_cpus should be of type int.", num_cpus))
    if bundles is not None and not isinstance(bundles, list):
        raise TypeError(_message("bundles should be of type List", bundles))
    for bundle in bundles or ():
        if not isinstance(bundle, dict):
            raise TypeError(_message("each bundle should be a Dict.", bundle))
        for key, value in bundle.items():
            if not isinstance(key, str):
                raise TypeError(_message("each bundle key should be str.", key))
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise TypeError(_message("each bundle value should be a number (int or float).", value))
    if bundle_label_selectors is not None:
        _check_selectors(bundle_label_selectors, bundles)


def _check_selectors(selectors, bundles):
    if bundles is None:
        raise ValueError(
            _message(
                "`bundles` must be provided when `bundle_label_selectors` is specified.", selectors, "the selectors"
            )
        )
    if len(selectors) != len(bundles):
        raise ValueError(
            _message(
                "`bundle_label_selector` must be a list with length equal to the number of bundles.",
                len(selectors),
                f"{len(bundles)} bundles and selectors",
            )
        )
    for selector in selectors:
        if not isinstance(selector, dict) or not all(
            isinstance(text, str) for pair in selector.items() for text in pair
        ):
            raise ValueError(
                _message(
                    "Bundle label selector must be a list of string dictionary label selectors. For example: "
                    '`[{ray.io/market_type": "spot"}, {"ray.io/accelerator-type": "A100"}]`.',
                    selector,
                )
            )


def _message(rule, given, what="got"):
    return f"{rule} ({at('request_resources')}: {what} {given!r})"
