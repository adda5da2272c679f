"""The engine's errors. Each leaf has a stable `code` and says whether a repeat can help.

AssayError
├── InvalidError       400  the request can never be right
├── ShapeError         422  valid JSON of the wrong shape
├── NotFoundError      404
├── ConflictError      409  right request, wrong moment or place
│   ├── StaleError          the lease or version is somebody else's by now
│   └── AmbiguousError      the id lives in several namespaces
├── TooLargeError      413
└── BusyError          503  a repeat will help
"""


class AssayError(Exception):
    """Anything the engine refuses, with the text a person should read."""

    code = "internal"
    retryable = False

    def __init__(self, text: str, *, code: str | None = None) -> None:
        super().__init__(text)
        if code is not None:
            self.code = code


class InvalidError(AssayError):
    code = "bad_request"


class ShapeError(AssayError):
    code = "wrong_shape"


class NotFoundError(AssayError):
    code = "not_found"


class ConflictError(AssayError):
    code = "conflict"


class StaleError(ConflictError):
    code = "stale"


class AmbiguousError(ConflictError):
    code = "ambiguous_id"


class TooLargeError(AssayError):
    code = "too_large"


class BusyError(AssayError):
    code = "busy"
    retryable = True
