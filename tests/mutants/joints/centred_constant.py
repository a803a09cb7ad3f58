"""Planted bugs: the constant feature that is centred, and what rests on it (docs/proofs/homogenize.md), and what readers of the seventeenth round met."""

from __future__ import annotations

from mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "the intercept that is printed holds what was subtracted from the constant",
        "two outputs that contradict each other",
        "release/coefficients.py",
        "        bias = bias - homogeneous.center * added\n",
        "",
        ("tests/release/test_coefficients.py", "-k", "scaled_as_a_whole"),
    ),
    Mutant(
        "a feature that no record has takes no part of what was subtracted from the constant",
        "a weight of noise that looks certain",
        "release/coefficients.py",
        "        of_bias = subtracted / plan.learner.bias**2 * weights[-1] if subtracted else 0.0\n",
        "        of_bias = 0.0\n",
        ("tests/release/test_coefficients.py", "-k", "takes_its_part"),
    ),
    Mutant(
        "the constant is centred, and the bias is as short as before",
        "a setting that another one rests on",
        "recipes/automatic.py",
        "    bias = round(math.hypot(last.radius * center / math.hypot(1.0, center), 1.0), 3)\n",
        "    bias = 1.0\n",
        ("tests/recipes/test_recipes.py", "-k", "takes_the_place"),
    ),
    Mutant(
        "a model in ONNX leaves the center out",
        "a form of the model that answers otherwise",
        "integrations/onnx_maps.py",
        '    return g("Sub", x, np.append(np.zeros(d), m.center)) if m.center else x\n',
        "    return x\n",
        ("tests/release/test_onnx.py", "-k", "homogeneous_rows"),
    ),
    Mutant(
        "a method that was set by hand is left out without a word",
        "what is not read is refused by name",
        "preprocessing/sklearn_spec.py",
        '    if own:\n        raise ValueError(\n            f"{kind.__name__} has a method',
        '    if False:\n        raise ValueError(\n            f"{kind.__name__} has a method',
        ("tests/preprocessing/test_fitted.py", "-k", "refused_by_name"),
    ),
    Mutant(
        "the largest error bound is refused as it is named",
        "a named cure that is refused",
        "evaluation/evaluation_plan.py",
        "        given = width  # as a sentence names it\n",
        "        pass\n",
        ("tests/evaluation/test_evaluation_of_targets.py", "-k", "as_sentences_name_it"),
    ),
    Mutant(
        "a straight line is not called one",
        "a sentence that is not there",
        "release/summary.py",
        "                        straight_in_words(plan),\n",
        "",
        ("tests/release/test_summary.py", "-k", "straight_line"),
    ),
    Mutant(
        "probabilities that may be worse than shares of classes are not spoken of",
        "a model worth nothing without a word",
        "release/advice.py",
        "plan.signal >= counts[-1][0] * classes:",
        "plan.signal >= 0:",
        ("tests/recipes/test_worth.py", "-k", "worse_than_shares"),
    ),
)
