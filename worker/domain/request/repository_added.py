"""A repository that the App may see since a moment: what was open then is older than Assay there.

Carries no text. Invariant: complete enough to find it, and to tell what was opened before.
"""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from worker.domain.ids import DeliveryId, InstallationId, RepositoryId, RepositoryName
from worker.domain.model import Frozen


class RepositoryAdded(Frozen):
    """`since`: when we heard of it. `page`: how often as many were looked at as may be at once.

    `delivery_id`: what told of it; empty where an older version wrote this down.
    """

    installation_id: InstallationId
    repository_id: RepositoryId
    repository: RepositoryName
    since: datetime
    page: Annotated[int, Field(ge=0)] = 0
    delivery_id: DeliveryId = DeliveryId("")

    @property
    def id(self) -> str:
        """The same, however often it is heard."""
        return f"{self.installation_id}:{self.repository_id}:{self.page}"
