"""What GPU targets refuse today, by the message. Anything else that does not compile
is a failure."""

import re

KNOWN = [
    (r"config does not fit: .* no smaller blocks fit", "f32 operands beyond registers"),
]


def reason(message):
    """Why a function was skipped; None where that is not known."""
    return next((name for pattern, name in KNOWN if re.search(pattern, message)), None)
