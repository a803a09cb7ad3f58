"""The class of every command: an option that takes one value is refused where it is given twice, before anything is read or charged.

Without that the last one counts, and the first one is dropped without a word.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from typer.core import TyperCommand

_INSTEAD = {
    "by": "it takes one column. For the groups of each column run the command once for each, which costs its ε each time. For the groups of "
    "both together add a column with the pairs to the table",
    "class_weight": "it takes the weights of all classes at once, such as '{no: 1, yes: 5}'",
    "epsilons": "it takes a list, such as 0.5,1,2",
}
_GENERAL = "it takes one value, so give it once"


class OnceCommand(TyperCommand):
    """A command whose options of one value are given once. Options of several values, counters and flags may be repeated."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As that of every command; a usage error for what is repeated. `--help` is answered first."""
        if not ctx.resilient_parsing:  # where a shell completes
            _, _, order = self.make_parser(ctx).parse_args(args=list(args))
            if not any(option.is_eager for option in order):
                for option, times in Counter(order).items():
                    if times > 1 and takes_one_value(option):
                        ctx.fail(_repeated(option, times))
        rest: list[str] = super().parse_args(ctx, args)
        return rest


def takes_one_value(option: Any) -> bool:
    """Whether a repetition of this parameter would drop a value."""
    return option.param_type_name == "option" and not (option.multiple or option.is_flag or option.count)


def _repeated(option: Any, times: int) -> str:
    how_often = "twice" if times == 2 else f"{times} times"
    return f"{option.opts[0]} is given {how_often}; {_INSTEAD.get(option.name, _GENERAL)}"
