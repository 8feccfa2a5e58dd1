"""Write folders and files of results atomically, without ever losing a user's own files.

`ResultFolder` writes a result. A manifest inside the folder lists the files that it wrote; only
these are ever replaced or removed. `replaced_file` replaces a single file.
"""

from dumbbell.folders.cache import cache_folder
from dumbbell.folders.content import Content, write_content
from dumbbell.folders.full_disk import file_of_library, no_room
from dumbbell.folders.manifest import ResultKind, Subject
from dumbbell.folders.result import ResultFolder, why_nothing_can_be_made
from dumbbell.folders.single_file import new_file, remove_left_beside, replace_file, replaced_file

__all__ = [
    "Content",
    "ResultFolder",
    "ResultKind",
    "Subject",
    "cache_folder",
    "file_of_library",
    "new_file",
    "no_room",
    "remove_left_beside",
    "replace_file",
    "replaced_file",
    "why_nothing_can_be_made",
    "write_content",
]
