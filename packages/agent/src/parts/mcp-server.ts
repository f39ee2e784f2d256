/** Offers tools to a harness; loaded with the first run of an agent that has one. */
export { Server } from '@modelcontextprotocol/server'
export { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
