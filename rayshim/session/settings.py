"""The settings of a session: what `init` has decided, the same in all processes of one driver."""

from __future__ import annotations

from dataclasses import dataclass, field

TYPE_CHECKING = False  # like that of typing, without the import
if TYPE_CHECKING:
    from typing import Any


@dataclass(frozen=True, eq=False)
class OfZygote:
    """The environment variables with which the zygote began.

    Attributes:
        given: {name: value} of the session's runtime environment.
        before: {name: value, None for none}, the values of the driver's environment in place of which the session's runtime environment has set others.
    """

    given: dict[str, str] = field(default_factory=dict)
    before: dict[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Automatic:
    """The choice of `init(placement="auto")`.

    Attributes:
        program: path of the program, None if it has no file, so that nothing is learned.
        why: the reason of the choice, as text.
        alone: {class of actors: why they have processes of their own}.
    """

    program: str | None
    why: str
    alone: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Settings:
    """The settings of a session, as one of its drivers and that driver's workers have them.

    Attributes:
        session_name: Ray's name of the session, with the time of its start.
        folder: name of the session's folder for sockets; `temp_dir`: path under which Ray would have its folders.
        place: the socket (rayshim.session.rendezvous.Place) by which other drivers come; None: none does.
        address: "host:port" for `init(address=)`, None of a session that no other driver can join.
        dashboard: "host:port" of the server of jobs, "" without one.
        node: hex id of the one node; labels: {name: value} of it; resources: {name: amount} that it has.
        driver: pid of the driver.
        namespace: of the driver's named actors; lifetime: of its actors, "detached" or "non_detached".
        placement: name of the kind of placement (rayshim.placement.kinds); auto: how it was chosen, None: by the user; roles: the
            rayshim.placement.roles.Roles of the placement "roles".
        ordering: "logical", "strict" or "arrival"; seed: None without one.
        timing: the TimingSetting of a session in timed order.
        journal: the JournalSetting of a run that has a journal.
        digest: whether `digest()` has an answer; recording: whether patterns are recorded; trace: whether times are kept for `timeline`.
        runtime_env: the driver's; of_zygote: the environment variables of the zygote.
        logging: LoggingConfig of the driver and its workers, or None.
        alias: in the driver, `import ray` gives rayshim; zygote_alias: it did so when the zygote was started.
        threads_set_by_user: the user has chosen numbers of threads of numeric libraries.
        retry_delay: seconds before a call is run again.
        job: number of this driver, from 1 on; scope: of a driver that has joined the session, None: it is the session's own.
    """

    session_name: str
    folder: str
    temp_dir: str
    node: str
    labels: dict[str, str]
    resources: dict[str, float]
    driver: int
    namespace: str
    placement: str
    ordering: str
    threads_set_by_user: bool
    retry_delay: float
    recording: bool
    trace: bool
    lifetime: str = "non_detached"
    place: Any = None
    address: str | None = None
    dashboard: str = ""
    auto: Automatic | None = None
    roles: Any = None
    seed: int | None = None
    journal: Any = None
    timing: Any = None
    digest: bool = True
    runtime_env: dict[str, Any] = field(default_factory=dict)
    of_zygote: OfZygote = field(default_factory=OfZygote)
    logging: Any = None
    alias: bool = False
    zygote_alias: bool = False
    job: int | None = None
    scope: tuple[int, ...] | None = None
