"""Each event is stored in its installation's cell, by one table, which the main cell has."""

from collections.abc import Mapping
from dataclasses import dataclass

from app.ingest.event_types import Event, PullEvent
from app.ingest.intake import EventIntake
from worker.domain.ids import DeliveryId
from worker.domain.lifecycle.intake import IntakeOutcome
from worker.errors import Unavailable
from worker.wiring.web import AsyncRedisClient, find_residence


@dataclass(frozen=True, slots=True)
class RoutedIntake:
    """`table`: a client of the main cell. `intakes`: of each cell, by name."""

    table: AsyncRedisClient
    intakes: Mapping[str, EventIntake]

    async def take_in(self, event: Event, delivery_id: DeliveryId) -> IntakeOutcome:
        """Store what an event asks for. Raises Unavailable, also while its installation moves to another cell."""
        installation = event.pull.installation_id if isinstance(event, PullEvent) else event.installation_id
        residence = await find_residence(self.table, installation)
        if residence.is_moving:
            raise Unavailable("Redis", f"installation {installation} is being moved to the cell {residence.cell}")
        if residence.cell not in self.intakes:
            raise Unavailable("Redis", f"ASSAY_CELLS lacks the cell {residence.cell} of installation {installation}")
        return await self.intakes[residence.cell].take_in(event, delivery_id)
