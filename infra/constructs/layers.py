"""The two layers that every function shares: third-party wheels, and the engine itself."""

import subprocess
import sys

import jsii
from aws_cdk import BundlingOptions, ILocalBundling
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.config import ARCHITECTURE, ROOT, RUNTIME

PLATFORM = "manylinux2014_aarch64"


@jsii.implements(ILocalBundling)
class PipBundling:
    """Fetches the wheels of Lambda's platform on this machine, so that no Docker is needed."""

    # jsii passes the options too, in one way or another; they are of no use here.
    def try_bundle(self, output_dir: str, *_options: object, **_more: object) -> bool:
        requirements = ROOT / "layers" / "dependencies" / "requirements.txt"
        python = RUNTIME.name.removeprefix("python")
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile"]
        target = ["--target", f"{output_dir}/python", "--platform", PLATFORM]
        wheels = ["--python-version", python, "--only-binary=:all:", "-r", str(requirements)]
        subprocess.run([*pip, *target, *wheels], check=True)
        return True


def dependencies_layer(scope: Construct) -> lambda_.LayerVersion:
    bundling = BundlingOptions(image=RUNTIME.bundling_image, local=PipBundling())
    code = lambda_.Code.from_asset(str(ROOT / "layers" / "dependencies"), bundling=bundling)
    return _layer(scope, "Dependencies", code)


def engine_layer(scope: Construct) -> lambda_.LayerVersion:
    code = lambda_.Code.from_asset(
        str(ROOT / "layers" / "engine"), exclude=["**/__pycache__", "*.pyc"]
    )
    return _layer(scope, "Engine", code)


def _layer(scope: Construct, name: str, code: lambda_.AssetCode) -> lambda_.LayerVersion:
    return lambda_.LayerVersion(
        scope,
        name,
        code=code,
        compatible_runtimes=[RUNTIME],
        compatible_architectures=[ARCHITECTURE],
    )
