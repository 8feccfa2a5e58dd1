"""Write folders and files of results atomically, without ever losing a user's own files.

`ResultFolder` writes a result. A manifest inside the folder lists the files that it wrote; only
these are ever replaced or removed. `replaced_file` replaces a single file.
"""

from dumbbell.folders.cache import cache_folder
from dumbbell.folders.content import Content, write_content
from dumbbell.folders.full_disk import disk_full_error, file_for_library
from dumbbell.folders.manifest import ResultKind, Subject
from dumbbell.folders.result import ResultFolder, why_not_writable
from dumbbell.folders.single_file import new_file, remove_left_beside, replace_file, replaced_file

__all__ = [
    "Content",
    "ResultFolder",
    "ResultKind",
    "Subject",
    "cache_folder",
    "disk_full_error",
    "file_for_library",
    "new_file",
    "remove_left_beside",
    "replace_file",
    "replaced_file",
    "why_not_writable",
    "write_content",
]
