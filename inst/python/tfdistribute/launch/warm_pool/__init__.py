"""Processes of tasks that are started before their task is known.

A supervisor whose job is not written yet waits for messages of the session at its standard input, a socket. Each is a
line of JSON: ``{"prepare": JOB, "idle_s": SECONDS}`` prepares the processes of a job that is like JOB, one after
another; without ``idle_s`` all at once, which is answered by an empty line. ``{"run": true}`` says that the job is
written. The supervisor ends with the session, and after ``idle_s`` seconds.
"""
