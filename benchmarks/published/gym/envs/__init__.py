from gym.envs.registration import registry

__all__ = ["registry"]
