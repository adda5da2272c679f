# Four source trees, one distribution; everything else is in pyproject.toml, which has no way to
# say that a package's folder has another name (functions/ is the package assay_functions).
from setuptools import find_namespace_packages, setup

FOLDERS = {
    "assay": "sdk/src/assay",
    "assay_engine": "layers/engine/python/assay_engine",
    "assay_functions": "functions",
    "assay_devserver": "devserver/assay_devserver",
}


def packages() -> list[str]:
    inner = {
        root: find_namespace_packages(folder, exclude=["*__pycache__*"])
        for root, folder in FOLDERS.items()
    }
    return [name for root in FOLDERS for name in (root, *(f"{root}.{sub}" for sub in inner[root]))]


setup(packages=packages(), package_dir=FOLDERS)
