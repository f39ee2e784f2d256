import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import { parseAsWritten } from '@flotilla/protocol/json-as-written'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { ToolDefinition } from '@flotilla/protocol/tool-call'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../system-clock.ts'
import { fakeTool } from '../testing/loop-parts.ts'
import type { Tool } from '../tools/tool.ts'
import { serveMeshTools } from './serve-mesh-tools.ts'

/** The tools of the mesh, and a harness that is connected to them. */
async function aHarness(tools: readonly Tool[]) {
  const got: string[] = []
  const server = await serveMeshTools({
    tools,
    clock: systemClock,
    call: async (_tool, written) => {
      got.push(written)
      return { output: sanitizeForPrompt('done'), ok: true, images: [] }
    },
  })
  onTestFinished(() => server.close())
  const socket = connect(server.mcpServer.args.at(-1) ?? '')
  onTestFinished(() => void socket.destroy())
  const replies = createInterface({ input: socket })[Symbol.asyncIterator]()
  const send = (text: string) => socket.write(`${text}\n`)
  const about = '"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}'
  send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{${about}}}`)
  await replies.next()
  send('{"jsonrpc":"2.0","method":"notifications/initialized"}')
  return { got, send, replies }
}

test('a harness reads the numbers in the schema of a tool as its server wrote them', async () => {
  const members = '"n":{"enum":[9007199254740993,1.0],"maximum":1e400}'
  const parameters = parseAsWritten(`{"type":"object","properties":{${members}}}`)
  const tool = fakeTool('read_page', 'none')
  const { send, replies } = await aHarness([
    { ...tool, definition: { ...tool.definition, parameters: parameters as ToolDefinition['parameters'] } },
  ])
  send('{"jsonrpc":"2.0","id":2,"method":"tools/list"}')
  expect((await replies.next()).value).toContain(members)
})

test('a tool of the mesh gets its arguments as the harness wrote them', async () => {
  const { got, send, replies } = await aHarness([fakeTool('read_page', 'none')])
  const written = ['{"id":9007199254740993,"list":[1.0,-0,1e400]}', '[1]', '{}']
  for (const [at, text] of written.entries()) {
    send(
      `{"jsonrpc":"2.0","id":${at + 2},"method":"tools/call","params":{"name":"read_page","arguments":${text}}}`,
    )
    expect((await replies.next()).value).toContain('done')
  }
  expect(got).toEqual(written)
})
