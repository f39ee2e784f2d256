import { expect, test } from 'vitest'
import { heedsLesson } from '../../../../../tests/verifies.ts'
import { randomToken } from '../../../../foundation/src/platform/system-clock.ts'
import { openDatabase } from '../../../../foundation/src/storage/database.ts'
import { agentsSchema } from '../../../../foundation/src/storage/schema/agents-schema.ts'
import { createAgentTable } from '../registry/agent-table.ts'
import { createAgentTokens } from './agent-tokens.ts'

function tokensOf(...agentIds: string[]) {
  const database = openDatabase(':memory:')
  database.exec(agentsSchema)
  const agents = createAgentTable(database)
  const budget = { dailyUsd: 1, monthlyUsd: 1 }
  for (const id of agentIds) {
    agents.insert({
      id,
      kind: 'worker',
      role: '',
      model: null,
      project: null,
      instructions: '',
      budget,
      createdAt: 0,
    })
  }
  const clock = { now: () => 0, sleep: async () => {} }
  const make = () => createAgentTokens({ database, clock, agents, randomToken })
  return { database, agents, tokens: make(), again: make }
}

test('each token of a start gives its agent and its kind', () => {
  const { tokens } = tokensOf('a', 'b')
  const a = tokens.issue('a', 'start_1')
  const b = tokens.issue('b', 'start_2')
  expect(tokens.verify(a.door)).toEqual({ agentId: 'a', token: 'door' })
  expect(tokens.verify(a.program)).toEqual({ agentId: 'a', token: 'program' })
  expect(tokens.verify(b.door)).toEqual({ agentId: 'b', token: 'door' })
})

test('a token has 256 bits and no two are equal', () => {
  const { tokens } = tokensOf('a')
  const { door, program } = tokens.issue('a', 'start_1')
  expect(Buffer.from(door, 'base64url')).toHaveLength(32)
  expect(door).not.toBe(program)
})

test('the next start ends the tokens of the one before', () => {
  const { tokens } = tokensOf('a')
  const old = tokens.issue('a', 'start_1')
  const fresh = tokens.issue('a', 'start_2')
  expect([tokens.verify(old.door), tokens.verify(old.program)]).toEqual([null, null])
  expect(tokens.verify(fresh.door)).not.toBeNull()
})

test('revoking ends the tokens of that agent alone', () => {
  const { tokens } = tokensOf('a', 'b')
  const a = tokens.issue('a', 'start_1')
  const b = tokens.issue('b', 'start_2')
  tokens.revoke('a')
  expect([tokens.verify(a.door), tokens.verify(a.program)]).toEqual([null, null])
  expect(tokens.verify(b.door)).not.toBeNull()
})

test('removing an agent takes its tokens along, also when they were used', () => {
  const { tokens, agents } = tokensOf('a')
  const { door } = tokens.issue('a', 'start_1')
  expect(tokens.verify(door)).not.toBeNull()
  agents.remove('a')
  expect(tokens.verify(door)).toBeNull()
})

test('an agent re-created under the same name does not accept tokens of its predecessor', () => {
  const { tokens, agents } = tokensOf('a')
  const { door } = tokens.issue('a', 'start_1')
  expect(tokens.verify(door)).not.toBeNull()
  const { record } = agents.require('a')
  agents.remove('a')
  agents.insert(record)
  expect(tokens.verify(door)).toBeNull()
})

test('a used token ends with its revocation, and a revocation that is rolled back ends nothing', () => {
  const { tokens, database } = tokensOf('a')
  const { door } = tokens.issue('a', 'start_1')
  expect(tokens.verify(door)).not.toBeNull()
  expect(() =>
    database.transaction(() => {
      tokens.revoke('a')
      expect(tokens.verify(door)).toBeNull()
      throw new Error('rolled back')
    }),
  ).toThrow('rolled back')
  expect(tokens.verify(door)).toEqual({ agentId: 'a', token: 'door' })
  tokens.revoke('a')
  expect(tokens.verify(door)).toBeNull()
})

test('a token that is issued in a transaction that is rolled back never counts', () => {
  const { tokens, database } = tokensOf('a')
  let door = ''
  expect(() =>
    database.transaction(() => {
      door = tokens.issue('a', 'start_1').door
      expect(tokens.verify(door)).not.toBeNull()
      throw new Error('rolled back')
    }),
  ).toThrow('rolled back')
  expect(tokens.verify(door)).toBeNull()
})

test('tokens outlive the process that issued them', () => {
  const { tokens, again } = tokensOf('a')
  const { door } = tokens.issue('a', 'start_1')
  expect(again().verify(door)).toEqual({ agentId: 'a', token: 'door' })
})

test('before any agent was started nothing opens the API, and an empty token never does', () => {
  heedsLesson(5)
  const { tokens } = tokensOf('a')
  for (const guess of ['', 'null', 'undefined', 'Bearer']) expect(tokens.verify(guess)).toBeNull()
})

test('the database holds no token', () => {
  const { tokens, database } = tokensOf('a')
  const { door, program } = tokens.issue('a', 'start_1')
  const rows = JSON.stringify(database.prepare('SELECT * FROM agent_tokens').all())
  expect(rows).not.toContain(door)
  expect(rows).not.toContain(program)
})

test.each(['', 'x', 'a'.repeat(1_000_000), '\u0000', "' OR 1=1 --"])(
  'what is no token is refused: case %#',
  (text) => {
    const { tokens } = tokensOf('a')
    tokens.issue('a', 'start_1')
    expect(tokens.verify(text)).toBeNull()
  },
)

test('the hash that the database holds is no token itself', () => {
  const { tokens, database } = tokensOf('a')
  tokens.issue('a', 'start_1')
  const row = database.prepare('SELECT hash FROM agent_tokens').get()
  expect(tokens.verify(String(row?.['hash']))).toBeNull()
})
