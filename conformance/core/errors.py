"""The errors that somebody outside this code can mend, and whose fault each one is.

ConformanceError                 something a person can mend; carries what, where and a hint
├── UsageError                   the command line asks for something impossible      exit 2
│   └── ReportDirError           the report directory cannot be used                 exit 2
├── ProfileError                 the profile cannot be believed                      exit 2
├── FixtureError                 a fixture provider did not deliver                  never a verdict on the target
├── Unreachable                  no HTTP conversation with the target at all         exit 4
├── CertificateError             a certificate is not what was signed                exit 1
└── JournalError                 a journal cannot be read back                       exit 2

`reference.fixtures.OptionsError`, `core.strict_json.JsonError` and the errors of placeholders (`profile.render`) are
ValueErrors and KeyErrors that their callers turn into one of these. The outcome signals of a check, BudgetExhausted and
the other exceptions that no person sees live where they are raised. `runner.command.NoVerdict` is a ConformanceError
with an exit code of its own.
"""

from __future__ import annotations


class ConformanceError(Exception):
    """A mistake or a lack that somebody outside this code can mend.

    `what` says what is wrong in one clause, `where` names the file, key or URL, `hint` says what to do.
    """

    exit_code = 5

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{place}{self.what}{hint}"


class UsageError(ConformanceError):
    exit_code = 2


class ReportDirError(UsageError):
    pass


class ProfileError(ConformanceError):
    exit_code = 2


class FixtureError(ConformanceError):
    """A fixture provider failed; `exhausted` tells a static list that was used up from a provider that broke."""

    exit_code = 5

    def __init__(self, what: str, *, where: str = "", hint: str = "", exhausted: bool = False) -> None:
        super().__init__(what, where=where, hint=hint)
        self.exhausted = exhausted


class Unreachable(ConformanceError):
    exit_code = 4


class CertificateError(ConformanceError):
    exit_code = 1


class JournalError(ConformanceError):
    exit_code = 2
