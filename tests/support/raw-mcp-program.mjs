// An MCP server on standard streams that parses only ids and methods. `say_line` returns the raw line of its call, and
// `say_numbers` the text of its environment as structured content, exactly as it is written.
import process from 'node:process'
import { createInterface } from 'node:readline'

const say = (text) => process.stdout.write(`${text}\n`)
const tools = ['say_line', 'say_numbers'].map((name) => ({ name, inputSchema: { type: 'object' } }))
const results = {
  initialize: {
    protocolVersion: '2025-06-18',
    capabilities: { tools: {} },
    serverInfo: { name: 'raw', version: '1' },
  },
  'tools/list': { tools },
  ping: {},
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method } = JSON.parse(line)
  if (id === undefined) continue
  if (line.includes('"say_numbers"')) {
    const structured = process.env.NUMBERS ?? '{}'
    say(
      `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[],"structuredContent":${structured}}}`,
    )
    continue
  }
  const result = method === 'tools/call' ? { content: [{ type: 'text', text: line }] } : results[method]
  const error = { code: -32_601, message: 'no such method' }
  say(JSON.stringify(result === undefined ? { jsonrpc: '2.0', id, error } : { jsonrpc: '2.0', id, result }))
}
