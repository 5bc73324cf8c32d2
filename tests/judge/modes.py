"""How an instructor client may ask."""

import instructor

MODES = [instructor.Mode.TOOLS, instructor.Mode.JSON_SCHEMA]
