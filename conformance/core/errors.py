"""The errors that a person outside this code can correct, and their exit codes.

ConformanceError                 has a message, a place and a hint                   exit 5
├── UsageError                   the command line asks for something impossible      exit 2
│   └── ReportDirError           the report directory cannot be used                 exit 2
├── ProfileError                 the profile is invalid                              exit 2
├── FixtureError                 a fixture provider failed                           never a verdict on the target
├── Unreachable                  the target answers no HTTP request                  exit 4
├── CertificateError             a certificate differs from what was signed          exit 1
└── JournalError                 a journal cannot be read or written                 exit 2

`reference.fixtures.OptionsError`, `core.strict_json.JsonError` and the errors of placeholders (`profile.render`) are
ValueErrors and KeyErrors that their callers convert to one of these. The outcome signals of a check, BudgetExhausted
and other exceptions that users never see are defined where they are raised. `runner.command.NoVerdict` and
`decisions.certificate.CertificateRefusal` are ConformanceErrors with exit codes of their own.
"""

from __future__ import annotations


class ConformanceError(Exception):
    """An error that a person outside this code can correct.

    `message` states the problem in one clause, `where` names the file, key or URL, `hint` says what to do.
    """

    exit_code = 5

    def __init__(self, message: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{place}{self.message}{hint}"


class UsageError(ConformanceError):
    exit_code = 2


class ReportDirError(UsageError):
    pass


class ProfileError(ConformanceError):
    exit_code = 2


class FixtureError(ConformanceError):
    """A fixture provider failed; `exhausted`: all values of a static list have been used."""

    exit_code = 5

    def __init__(self, message: str, *, where: str = "", hint: str = "", exhausted: bool = False) -> None:
        super().__init__(message, where=where, hint=hint)
        self.exhausted = exhausted


class Unreachable(ConformanceError):
    exit_code = 4


class CertificateError(ConformanceError):
    exit_code = 1


class JournalError(ConformanceError):
    exit_code = 2
