"""Planted bugs: fixed networks."""

from __future__ import annotations

from mutant import Mutant

TESTS = "tests/preprocessing/test_encoder.py"
KIND = "a network that is not fixed, or rows that depend on each other"


def killed(which: str) -> tuple[str, ...]:
    """The tests of networks whose name holds `which`."""
    return (TESTS, "-k", which)


MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "batch normalisation in training mode passes",
        KIND,
        "preprocessing/network.py",
        'if node.op_type == "BatchNormalization" and (',
        'if node.op_type == "BatchNormalisation" and (',
        killed("not_fixed"),
    ),
    Mutant(
        "a dropout that a row decides passes",
        KIND,
        "preprocessing/network.py",
        "if training is None or onnx",
        "if training is not None and onnx",
        killed("not_fixed"),
    ),
    Mutant(
        "weights in another file pass",
        KIND,
        "preprocessing/network.py",
        "if any(tensor.data_location == external or tensor.external_data for tensor in _tensors(onnx, graph)):",
        "if len(graph.initializer) > 2**20:",
        killed("not_fixed"),
    ),
    Mutant(
        "operators that nobody knows pass",
        KIND,
        "preprocessing/network.py",
        "if node.op_type not in _DEPEND_ON_ROW_ALONE:",
        "if not node.op_type:",
        killed("not_fixed"),
    ),
    Mutant(
        "a function may stand in the place of a known operator",
        KIND,
        "preprocessing/network.py",
        "if model.functions:  # one",
        "if model.functions and not graph.node:  # one",
        killed("not_fixed"),
    ),
    Mutant(
        "the bits of a row in another place are not compared",
        KIND,
        "preprocessing/network.py",
        "if not np.array_equal(self.run(rows[::-1])[::-1], once, equal_nan=True):",
        "if not np.array_equal(self.run(rows), once, equal_nan=True):",
        killed("other_bits"),
    ),
    Mutant(
        "a row on which the network fails ends the run",
        KIND,
        "preprocessing/network.py",
        "            except Exception:  # an index out of range: a record must not end the run\n                continue\n",
        "            except MemoryError:\n                continue\n",
        killed("cannot_take"),
    ),
    Mutant(
        "a row that is not finite stays so",
        KIND,
        "preprocessing/encoder.py",
        "        made[~np.isfinite(made).all(axis=1)] = 0.0\n",
        "",
        killed("cannot_take"),
    ),
    Mutant(
        "a network after rows that moved",
        KIND,
        "preprocessing/encoder.py",
        "        return math.inf  # nothing is known",
        "        return 1.0  # nothing is known",
        killed("moves_rows"),
    ),
    Mutant(
        "a network that is not here is missed after the charge",
        KIND,
        "runs/public.py",
        "free = step.free(space)  # that it can be made at all is seen before the charge\n"
        "            maps = None if maps is None else [*maps, free]\n",
        "maps = None if maps is None else [*maps, step.free(space)]\n",
        killed("not_here"),
    ),
    Mutant(
        "the file is read anew when the run begins",
        KIND,
        "preprocessing/encoder.py",
        '            "network": sha256,\n',
        '            "network": self.network,\n',
        killed("changes_or_goes or hash_licence"),
    ),
    Mutant(
        "a claim that is exactly Gaussian forgets what it rests on",
        KIND,
        "plans/claim.py",
        "return replace(exact, notes=steps.notes)",
        "return exact",
        killed("premise"),
    ),
    Mutant(
        "a prepared table's claim forgets what it rests on",
        KIND,
        "runs/preparation.py",
        "replace(made, notes=self.chain.notes)",
        "made",
        killed("every_claim"),
    ),
    Mutant(
        "an account forgets what a step rests on",
        KIND,
        "accounts/account.py",
        '        step.holds_only\n        or f"holds only if',
        '        f"holds only if',
        killed("every_claim"),
    ),
    Mutant(
        "a recipe behind a step that is paid for",
        KIND,
        "recipes/automatic.py",
        "        if step.paid.private:\n            raise ValueError(\n"
        '                f"{step.name} is paid for by {step.way}: before a recipe',
        "        if not step:\n            raise ValueError(\n"
        '                f"{step.name} is paid for by {step.way}: before a recipe',
        killed("that_of_a_ball"),
    ),
    Mutant(
        "channels last are read as channels first",
        KIND,
        "preprocessing/encoder.py",
        "            if self.inputs == (height, width, channels):\n                return False\n",
        "            if self.inputs == (height, width, channels):\n                return True\n",
        killed("order_of_the_network"),
    ),
    Mutant(
        "weights may call any function",
        KIND,
        "preprocessing/imagenet.py",
        '    raise ValueError(f"{name} is not a tensor")',
        '    return getattr(__import__(name.split(" ")[0]), name.split(" ")[1])',
        ("tests/preprocessing/test_imagenet.py", "-k", "nothing_is_called"),
    ),
    Mutant(
        "few images are clipped as many are",
        "a rule of much signal where there is little",
        "recipes/weak.py",
        "return min(1.0, max(WAVELET_CLIP, _CLIPPED / s))",
        "return WAVELET_CLIP",
        ("tests/recipes/test_recipes.py", "-k", "images_with_little_signal"),
    ),
    Mutant(
        "iterates of embeddings are averaged as those of tables",
        KIND,
        "recipes/automatic.py",
        "share = min(EMBEDDED_AVERAGE if _embedded(domain) else LATE, late_share(s))",
        "share = min(LATE, late_share(s))",
        ("tests/recipes/test_public_directions.py", "-k", "go_as_far"),
    ),
    Mutant(
        "few public directions are learned as columns are",
        KIND,
        "recipes/public_directions.py",
        "Domain.ball(max(k, WIDE), domain",
        "Domain.ball(k, domain",
        ("tests/recipes/test_public_directions.py", "-k", "go_as_far"),
    ),
    Mutant(
        "directions of public rows are bought from the private ones",
        "a step after public rows that is paid for",
        "recipes/public_directions.py",
        "PCA(k, payment=public)",
        "PCA(k, payment=pay.Budget(0.05))",
        ("tests/recipes/test_public_directions.py", "-k", "for_nothing"),
    ),
)
