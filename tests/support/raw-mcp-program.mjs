// An MCP server on standard streams that parses only ids and methods: its one tool returns the raw line of its call.
import process from 'node:process'
import { createInterface } from 'node:readline'

const say = (text) => process.stdout.write(`${text}\n`)
const tool = { name: 'say_line', inputSchema: { type: 'object' } }
const results = {
  initialize: {
    protocolVersion: '2025-06-18',
    capabilities: { tools: {} },
    serverInfo: { name: 'raw', version: '1' },
  },
  'tools/list': { tools: [tool] },
  ping: {},
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method } = JSON.parse(line)
  if (id === undefined) continue
  const result = method === 'tools/call' ? { content: [{ type: 'text', text: line }] } : results[method]
  const error = { code: -32_601, message: 'no such method' }
  say(JSON.stringify(result === undefined ? { jsonrpc: '2.0', id, error } : { jsonrpc: '2.0', id, result }))
}
