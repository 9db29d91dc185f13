"""Tools of servers that speak the Model Context Protocol (MCP), for the assistant."""
