"""The gateway: OpenAI's and Ollama's HTTP APIs over the embedded model or other servers, with constraints never silently off.

    body ── parameters (known names, types) ── resolver (what is to hold) ── compiling (worker processes) ──► Grammar
                                                                                                               │
    answer ◄── openai_*, ollama_* (wire shapes) ◄── choices (tools, checks, retries) ◄── backend (embedded | upstream)

``application.create_application`` builds the ASGI application, ``serving.serve`` runs it.
"""
