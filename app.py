"""CDK entry point: the stacks of one deployment. No network at synth."""

import aws_cdk as cdk

from infra.config import Config
from infra.stacks.stateful import StatefulStack
from infra.stacks.stateless import StatelessStack


def build(app: cdk.App, config: Config) -> tuple[StatefulStack, StatelessStack]:
    stateful = StatefulStack(app, f"{config.name}-data", config=config)
    stateless = StatelessStack(
        app, f"{config.name}-engine", config=config, table=stateful.table, blobs=stateful.blobs
    )
    return stateful, stateless


if __name__ == "__main__":
    application = cdk.App()
    build(application, Config.from_context(application.node))
    application.synth()
