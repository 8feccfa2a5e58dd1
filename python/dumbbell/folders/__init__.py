"""Folders and files of results that appear whole or not at all, and never lose a user's own files.

`ResultFolder` is where a result goes: what it writes is named in a manifest inside the folder, and
only that is ever replaced or removed. `replaced_file` does the same for one file.
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
