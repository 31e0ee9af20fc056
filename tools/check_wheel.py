"""Build the wheel, install it alone into a fresh environment, and train with what is there: no checkout, no dev tools."""

import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TRIAL = """
import boltzflow as bf
run = bf.train(bf.rbm(64, 8), bf.data.digits().train, epochs=1)
assert ".venv" not in bf.__file__ and "src" not in bf.__file__, bf.__file__
print("wheel:", run)
"""


def main() -> None:
    """Fails loudly where a file or a dependency is missing."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT]
        subprocess.run(build, check=True, stdout=subprocess.DEVNULL)
        (wheel,) = folder.glob("*.whl")
        inside = zipfile.ZipFile(wheel).namelist()
        assert "boltzflow/py.typed" in inside, inside
        assert all(path.startswith(("boltzflow/", "boltzflow-")) for path in inside), inside
        venv.create(folder / "fresh", with_pip=True)
        python = folder / "fresh" / "bin" / "python"
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, "--constraint", ROOT / "constraints.txt", wheel], check=True, cwd=folder)
        subprocess.run([python, "-c", TRIAL], check=True, cwd=folder)
        program = folder / "fresh" / "bin" / "boltzflow"
        subprocess.run([program, "--help"], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(
            [program, "reproduce", "filters", "--quick", "--json"], check=True, cwd=folder, stdout=subprocess.DEVNULL
        )
        installed = subprocess.run([python, "-m", "pip", "list"], check=True, capture_output=True, text=True).stdout
        assert not any(word in installed.lower() for word in ("torch", "nvidia", "cuda")), installed


if __name__ == "__main__":
    main()
