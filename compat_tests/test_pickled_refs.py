"""`RAY_allow_out_of_band_object_ref_serialization=0`: refs are pickled as parts of arguments and values alone."""

PROGRAM = """
import os
os.environ["RAY_allow_out_of_band_object_ref_serialization"] = "0"
import ray, ray.cloudpickle as pickle
from ray.exceptions import OufOfBandObjectRefSerializationException as Refused
INIT

@ray.remote
def read(refs):
    return ray.get(refs[0])

@ray.remote
def pickles(refs):
    try:
        pickle.dumps(refs)
    except Refused:
        return "refused"

@ray.remote
def captures():
    return ray.get(ref)

ref = ray.put(5)
print(ray.get(read.remote([ref])), ray.get(ray.get(ray.put([ref]))[0]))
try:
    pickle.dumps([ref])
except Refused as error:
    print("It is not allowed to serialize ray.ObjectRef " + ref.hex() in str(error))
try:
    captures.remote()
except Refused:
    print("refused in code")
print(ray.get(pickles.remote([ref])))
"""


def test_refs_outside_of_values_are_refused(scripts):
    assert scripts.run(PROGRAM, num_cpus=1, log_to_driver=False).splitlines() == [
        "5 5",
        "True",
        "refused in code",
        "refused",
    ]
