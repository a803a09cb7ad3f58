"""The command line. Every error is one line on stderr with its own exit code; see commands/exits.py.

Importing this imports nothing heavy: a Ctrl-C is answered from the first moment, also while `main` imports.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import warnings
from typing import Any

from prepriv._text import printable

_INTERRUPTED = 130
_DRAFT = " It says what is public of the table: prepriv schema init DATA --rows N --epsilon 0.2 --out S.yaml drafts one"
_NO_COMMAND = re.compile(r"No such command '([^']*)'\.?")
_MEANT = dict.fromkeys(("score", "test", "measure"), "evaluate") | {
    "fit": "train",
    "draft": "schema init",
    "init": "schema init",
    "verify": "report",
    "query": "ask",
    "synthesize": "sketch",
}
_OTHERWISE_CALLED = ("No such option", "Missing argument", "Got unexpected extra argument")
_THRESHOLD = ". Of a trained model --class-weight does it: '{no: 0.2, yes: 0.8}' predicts yes above a probability of 0.2"
_EXTRAS = {"matplotlib": "plots", "dp_accounting": "interop"}


def run(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code. Never prints a traceback."""
    _write_anything()
    try:
        return _run(arguments)
    except KeyboardInterrupt:
        return _say("interrupted", _INTERRUPTED)


def _write_anything() -> None:
    """No character is an error where the output has none for it: it is written as its code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _run(arguments: list[str] | None) -> int:
    import typer

    from prepriv.commands.app import app_for
    from prepriv.commands.exits import AFTER_TOUCH, BAD_INPUT, BROKEN_PIPE, Stop, reason, usage_errors

    app = app_for(sys.argv[1:] if arguments is None else arguments)
    usage_error, click_error = usage_errors()
    warned: list[str] = []
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "weak")  # what it says is printed beside the claim
            warnings.showwarning = lambda message, *_: warned.append(str(message))
            code = app(args=arguments, standalone_mode=False)
        for sentence in dict.fromkeys(warned):  # after what it is about, and not beside a refusal
            print(printable(f"WARNING: {sentence}"), file=sys.stderr)
        if code == _INTERRUPTED:  # newer versions of typer turn a Ctrl-C into that
            raise KeyboardInterrupt
        return code if isinstance(code, int) else 0
    except SystemExit:  # how click ends where standard output was closed
        return BROKEN_PIPE
    except Stop as stop:
        return _say(str(stop), stop.code)
    except (usage_error, click_error) as error:
        text = error.format_message() if hasattr(error, "format_message") else str(error)
        if not text:  # "no arguments": the help was printed
            return BAD_INPUT
        if type(error).__name__ == "NoArgsIsHelpError":  # newer versions leave that to us
            typer.echo(text)
            return BAD_INPUT
        text = _with_call(text, error)
        return _say(text + _DRAFT * text.startswith("Missing option '--schema'"), BAD_INPUT)
    except typer.Exit as exit_:
        return int(exit_.exit_code)
    except typer.Abort:  # older ones into this
        raise KeyboardInterrupt from None
    except ValueError as error:
        for line in getattr(error, "lines", (str(error),)):  # a line for each reason, where there are several
            _say(line, BAD_INPUT)
        return BAD_INPUT
    except ModuleNotFoundError as error:
        extra = _EXTRAS.get((error.name or "").partition(".")[0])
        if extra is None:
            return _say(
                f"internal error ({type(error).__name__}); please report it with the command line",
                AFTER_TOUCH,
            )
        return _say(f"this needs {error.name}: pip install 'prepriv[{extra}]'", BAD_INPUT)
    except OSError as error:
        # of writing: readers, and whatever has private data open, have errors of their own
        name = error.filename2 or error.filename
        return _say(
            f"cannot write to {name or 'the output'}: {reason(error)}", BAD_INPUT if name else AFTER_TOUCH
        )
    except Exception as error:
        if isinstance(
            code := getattr(error, "exit_code", None), int
        ):  # the ledger's, imported by who uses it
            return _say(str(error), code)
        return _say(
            f"internal error ({type(error).__name__}); please report it with the command line", AFTER_TOUCH
        )


def _with_call(text: str, error: Exception) -> str:
    """What click says about a line, with the command that is meant, or with how the command is called."""
    if found := _NO_COMMAND.match(text):
        meant = _MEANT.get(found[1].lower())
        return text if meant is None else f"No such command '{found[1]}'. For that there is `prepriv {meant}`"
    context: Any = getattr(error, "ctx", None)
    if context is None or not text.startswith(_OTHERWISE_CALLED):
        return text
    command = context.command
    pieces = (re.sub("[{}]", "", piece).upper() for piece in command.collect_usage_pieces(context))
    words = [piece for piece in pieces if piece != "[OPTIONS]"]
    while context.parent is not None:
        words.insert(0, context.info_name)
        context = context.parent
    called = " ".join(["prepriv", *words])
    weighs = any(one.name == "class_weight" for one in command.params)
    if getattr(error, "option_name", None) == "--threshold" and weighs:
        return text.rstrip(".") + _THRESHOLD
    told = text.removesuffix(" (Possible options: --help)").rstrip(".")
    return f"{told}. It is called as `{called}`, and `--help` lists its options"


def _say(text: str, code: int) -> int:
    print("prepriv: " + printable(" ".join(text.split())), file=sys.stderr)
    return code


def main() -> None:
    """Entry point of the `prepriv` command."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:  # else it is ignored, and stays so
        signal.signal(signal.SIGINT, _interrupted)
    from prepriv.commands.app import app_for

    app_for(sys.argv[1:])  # imports it all: libraries are not to catch, or to print, a KeyboardInterrupt
    signal.signal(signal.SIGINT, before)
    code = run()
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done: nothing is left to interrupt
    sys.exit(code)


def _interrupted(_signal: int, _frame: Any) -> None:
    os.write(2, b"prepriv: interrupted\n")
    os._exit(_INTERRUPTED)


if __name__ == "__main__":
    main()
