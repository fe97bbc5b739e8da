"""`ray._private.thirdparty`."""
