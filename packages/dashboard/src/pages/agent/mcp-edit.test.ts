import { agentEditSchema } from '@flotilla/protocol/agent-edit'
import { expect, it } from 'vitest'
import { mcpBeginnings, mcpEdit, readWritten } from './mcp-edit.ts'

it('a server is read as the mesh would read it, and what is wrong is said in its words', () => {
  const { server, fault } = readWritten('tracker', '{"url": "https://mcp.example.org/mcp"}')
  expect(fault).toBeNull()
  if (!server) throw new Error('it was read')
  expect(agentEditSchema.safeParse(mcpEdit({ set: { tracker: server } })).success).toBe(true)
  expect(readWritten('', '{}').fault).toMatch(/name/)
  expect(readWritten('no name', '{}').fault).toMatch(/not a valid name of a server/)
  expect(readWritten('a', '{').fault).toMatch(/not valid JSON/)
  expect(readWritten('a', '{"command": "x", "env": {"K": "$CRED{k}"}}').fault).toMatch(/handle is refused/)
})

it('what a new one begins as is not taken for one', () => {
  for (const text of Object.values(mcpBeginnings)) expect(readWritten('a', text).fault).not.toBeNull()
})

it('one that goes is named, and the others stay', () => {
  expect(mcpEdit({ remove: ['tracker'] }).value).toEqual({ set: {}, remove: ['tracker'] })
})
