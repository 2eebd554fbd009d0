"""Pure: bytes and values in, values out. No I/O, no git, no clock."""
