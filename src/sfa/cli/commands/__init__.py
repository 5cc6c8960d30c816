"""The commands and their options, in groups; each hands over to the module that does it."""
