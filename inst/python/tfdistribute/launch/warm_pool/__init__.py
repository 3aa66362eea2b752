"""Processes of tasks that are started before their task is known.

A waiting supervisor reads lines of JSON from the session at its standard input, a socket. ``{"prepare": JOB,
"idle_s": SECONDS}`` prepares processes for a job like JOB, one after another. Without ``idle_s`` all are prepared
immediately, and an empty line is the answer. ``{"run": true}`` says that the job is written. The supervisor ends with
the session, and after ``idle_s`` seconds.
"""
