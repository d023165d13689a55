"""The command line.

Takes: arguments, scripts, a terminal or a pipe.
Gives: engine calls, displays, one JSON object when asked, exit codes.
Never: algorithms, Spark, files of a home.
"""
