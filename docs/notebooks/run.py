"""Execute the notebooks and store their outputs: python docs/notebooks/run.py (needs `pip install ".[notebooks]"`)."""

from __future__ import annotations

from pathlib import Path

import nbformat
from nbclient import NotebookClient

for path in sorted(Path(__file__).parent.glob("*.ipynb")):
    book = nbformat.read(path, as_version=4)
    NotebookClient(book, timeout=300, kernel_name="python3", record_timing=False).execute()
    for cell in book.cells:
        if cell.cell_type == "code":
            cell.outputs = [
                out for out in cell.outputs if out.get("name") != "stderr"
            ]  # warnings name folders
    book.metadata.pop("language_info", None)  # of this machine
    nbformat.write(book, path)
    print(f"{path.name}: {sum(cell.cell_type == 'code' for cell in book.cells)} cells")
