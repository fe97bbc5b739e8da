"""Why rayshim lacks a public name of Ray, or a name has no test: the first pattern that fits says it."""

from fnmatch import fnmatchcase

REASONS = {
    "ray.exceptions.*.from_ray_exception": "reads a protobuf message of Ray's core",
    "ray.exceptions.ObjectReconstructionFailedError.REASON_MESSAGES": "its keys are numbers of a protobuf enum",
    "ray._config": "settings of Ray's core",
    "ray.ray_constants": "deprecated alias of a private module",
    "ray.serialization": "deprecated alias of a private module",
    "ray.state": "deprecated alias of a private module; `ray._private.state` is there",
    "ray.worker": "deprecated alias of a private module; `ray._private.worker` is there",
    "ray.runtime_env.RuntimeEnv.*": "of environments that install or start something, which are refused",
    "ray.runtime_env.RuntimeEnvConfig.*proto*": "a protobuf message",
    "ray.job_submission.*.model_config": "pydantic's; the classes are dataclasses here",
    "ray.cluster_utils*": "clusters of several nodes on one machine, for Ray's own tests",
    "ray.ClientBuilder*": "Ray Client connects to a cluster elsewhere; `ray.client` says so",
    "ray.client_builder*": "Ray Client connects to a cluster elsewhere; `ray.client` says so",
    "ray.cross_language*": "workers of other languages; refused with a sentence",
    "ray.experimental.*nixl*": "NIXL is not here: each function says so",
    "ray.experimental.*RDTManager*": "how Ray keeps direct tensors; programs use the functions beside it",
    "ray.experimental.rdt*": "the place of names that `ray.experimental` has, too, which test_direct_tensors.py uses",
    "ray.experimental.*TensorTransportManager.*": "a method that transports of the program's own define, see test_direct_tensors.py",
    "ray.experimental.set_resource": "raises DeprecationWarning in Ray; `ray.experimental.dynamic_resources` has it",
    "ray.experimental.channel.*": "how Ray builds the channels of compiled graphs; programs name only Communicator, CPUCommunicator and the type hints",
    "ray.dag.compiled_dag_node.*": "how Ray builds compiled graphs",
    "ray.dag.DAGOperationFuture*": "how Ray builds compiled graphs",
    "ray.dag.GPUFuture*": "needs GPUs",
    "ray.dag*.get_result_type": "of Ray Serve's graphs",
    "ray.dag*DAGContext.*": "a field of the dataclass, set for each instance",
    "ray.util.connect": "Ray Client connects to a cluster elsewhere",
    "ray.util.disconnect": "Ray Client connects to a cluster elsewhere",
    "ray.util.tpu*": "slices of TPUs over several machines",
    "ray.util.accelerators.tpu": "slices of TPUs over several machines",
    "ray.util.tracing*": "OpenTelemetry",
    "ray.util.state*": "objects, logs and events are not listed; the records' classes are rayshim's own",
    "ray.util.serialization_addons*": "serializers that Ray registers by itself",
    "ray.util.serialization.StandaloneSerializationContext*": "for Ray's own libraries",
    "ray.util.multiprocessing.pool.*": "how Ray builds the pool",
    "ray.util.debug.Suspect*": "for Ray's own search for leaks",
    "ray.util.debug.*": "for Ray's own search for leaks",
    "ray.util.collective.types.*_available": "for Ray's own imports",
    "ray.util.collective.types.*": "options of collectives that Ray passes to itself",
    "ray.util.collective.*_multigpu": "needs GPUs",
    "ray.Language*": "the constants of a class for workers of other languages",
    "ray.java_*": "workers of other languages; refused with a sentence",
    "ray.client": "Ray Client connects to a cluster elsewhere; refused with a sentence",
    "ray.ObjectID.*": "a member of ObjectRef's, whose rules test_ids.py states",
    "ray.ObjectID": "the former name of ObjectRef",
    "ray.S*_MODE": "a number",
    "ray.W*_MODE": "a number",
    "ray.exceptions.*.BASE_ERROR_MSG": "a text",
    "ray.exceptions.*": "raised by parts of Ray that are not here, or beside another of its tree; the class and its bases are there to be caught",
    "ray.dag.*_KEY": "a constant of Ray's own graphs",
    "ray.dag.DAGNode.*": "used by every test of graphs under its subclasses",
    "ray.dag.Class*Node*": "made by `bind`, which the tests of graphs use",
    "ray.dag.*Node": "made by `bind`, which the tests of graphs use",
    "ray.dag.base.*": "made by `bind`, which the tests of graphs use",
    "ray.actor.ActorMethod*": "what a handle's attribute is; every test of actors uses it",
    "ray.remote_function.*": "what `remote` gives; every test of tasks uses it",
    "ray.experimental.util.types.*": "names of the operations of collectives",
    "ray.util.iter_metrics.*": "counters of parallel iterators, which test_parallel_iterators.py uses by the iterators",
    "*.T": "a type variable",
    "*.F": "a type variable",
    "*.R": "a type variable",
    "*.U": "a type variable",
    "*.V": "a type variable",
    "*.ActorMetadata": "a type variable",
    "ray.types.*": "for annotations",
    "ray.util.annotations.*": "marks of Ray's own interfaces, without effect on programs",
    "ray.util.accelerators.*": "a constant, the same string as Ray's",
    "ray.util.common*": "constants",
}

#: Why rayshim lacks a name that frameworks use.
OF_FRAMEWORKS = {}


def of_frameworks(name):
    """The reason of that name, "none yet" without one."""
    return next((text for pattern, text in OF_FRAMEWORKS.items() if fnmatchcase(name, pattern)), "none yet")


def reason(full):
    """The reason of that name, or None."""
    return next((text for pattern, text in REASONS.items() if fnmatchcase(full, pattern)), None)
