"""Where each kind of task is; imports nothing, for the command line has an option for each."""

KINDS = {
    "classes": "hyperproto.tasks.classes:Classes",
    "range": "hyperproto.tasks.range:Range",
}
