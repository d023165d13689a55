"""The server: a home over HTTP, for clients that are not Python or not on this machine.

Takes: requests with an access token.
Gives: changes as server-sent events and WebSocket messages, registrations, views, figures.
Never: deciding what is a result, or writing a home but through the engine's doors.
"""
