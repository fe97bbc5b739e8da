"""`ray._private.accelerators.accelerator`: what the managers of all kinds have."""

import os

from rayshim.resources import accelerators


class AcceleratorManager:
    """The accelerators of one kind: how many this machine has, and which of them this process may use. All methods are static in Ray."""

    RESOURCE = "GPU"
    VISIBLE = "CUDA_VISIBLE_DEVICES"
    DEVICES = ()  # patterns of the device files, one file to an accelerator

    @classmethod
    def get_resource_name(cls):
        """The name of the resource."""
        return cls.RESOURCE

    @classmethod
    def get_visible_accelerator_ids_env_var(cls):
        """The environment variable that says which this process may use."""
        return cls.VISIBLE

    @classmethod
    def get_current_process_visible_accelerator_ids(cls):
        """Their ids, strings; None: all."""
        value = os.environ.get(cls.VISIBLE)
        if value is None:
            return None
        return [] if value in ("", "NoDevFiles") else value.split(",")

    @classmethod
    def set_current_process_visible_accelerator_ids(cls, ids):
        """Says so, for libraries that this process has yet to import."""
        os.environ[cls.VISIBLE] = ",".join(map(str, ids))

    @classmethod
    def get_current_node_num_accelerators(cls):
        """How many there are in this machine."""
        import glob

        return sum(len(glob.glob(pattern)) for pattern in cls.DEVICES)

    @classmethod
    def get_current_node_accelerator_type(cls):
        """Their type as `accelerator_type=` names it, None if there are none or it is unknown."""
        return

    @classmethod
    def get_current_node_additional_resources(cls):
        """Further resources that they bring; none."""
        return

    @classmethod
    def validate_resource_request_quantity(cls, quantity):
        """(whether that many can be asked for, why not)."""
        message = accelerators.wrong_above_one(cls.RESOURCE, quantity)
        return message is None, message
