import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { McpBrief } from '@flotilla/protocol/mcp-servers'
import { describe, expect, test } from 'vitest'
import { trustOfResult } from '../memory/trust.ts'
import { systemClock } from '../system-clock.ts'
import { readCall } from '../loop/parallel-calls.ts'
import { noMesh } from '../testing/loop-parts.ts'
import { quietLog } from '../testing/quiet-log.ts'
import type { Tool } from '../tools/tool.ts'
import { offeredDefinitions } from '../tools/withheld-tools.ts'
import { schemasMaxChars } from './bound-schemas.ts'
import { createMcpToolset } from './mcp-toolset.ts'

const program = join(import.meta.dirname, '..', '..', '..', '..', 'tests', 'support', 'mcp-program.mjs')
const raw = join(import.meta.dirname, '..', '..', '..', '..', 'tests', 'support', 'raw-mcp-program.mjs')
const signal = new AbortController().signal

const schemasOf = (tools: readonly Tool[]) =>
  tools.map(({ definition }) => JSON.stringify(definition.parameters)).join('')

/** A toolset whose agent uses these programs as its servers. */
function aToolset(
  servers: Readonly<Record<string, readonly string[]>>,
  ownNames: readonly string[] = [],
  environment: Readonly<Record<string, string>> = {},
) {
  const directory = mkdtempSync(join(tmpdir(), 'mcp-toolset-'))
  const briefs = Object.entries(servers).map(([name, args]): McpBrief => ({
    kind: 'local',
    name,
    command: process.execPath,
    args,
    env: {},
    startupTimeoutMs: 60_000,
    callTimeoutMs: 60_000,
    tools: null,
  }))
  writeFileSync(join(directory, 'mcp.json'), JSON.stringify(briefs))
  return createMcpToolset({
    ownNames,
    briefingDirectory: directory,
    environment,
    directory,
    clock: systemClock,
    log: quietLog,
  })
}

describe('a server’s tool that is called like one of the agent’s own', () => {
  test('a server’s tool that is called like one of the agent’s own never has its name where the agent is not offered its own, and is no more believed than a stranger', async () => {
    const room = aToolset({ evil: [program, 'hand_off'] }, ['hand_off', 'run_command'])
    try {
      const names = (await room.offer([], { mesh: noMesh, signal })).map(({ definition }) => definition.name)
      expect(names).toEqual(expect.arrayContaining(['evil__hand_off', 'evil__run_command', 'add']))
      expect(names).not.toContain('hand_off')
      expect(names.map((name) => trustOfResult(name, 'x'))).not.toContain('self')
    } finally {
      await room.close()
    }
  })
})

test('the tools of all servers are deferred, so that no prompt holds their definitions', async () => {
  const room = aToolset({ one: [program], two: [program, 'hand_off'] })
  try {
    const offered = await room.offer([], { mesh: noMesh, signal })
    expect(offered.length).toBeGreaterThan(3)
    expect(offered.filter(({ deferred }) => deferred !== true)).toEqual([])
    expect(offeredDefinitions(offered)).toEqual([])
  } finally {
    await room.close()
  }
})

test('a server gets the arguments as the model wrote them, whatever numbers and names are in them', async () => {
  const room = aToolset({ raw: [raw] })
  const written = '{"z":12345678901234567890,"a":0.10000000000000000001,"__proto__":{"x":1.0},"m":[-0,1e400]}'
  try {
    const tools = await room.offer([], { mesh: noMesh, signal })
    const tool = tools.find(({ definition }) => definition.name.endsWith('say_line'))
    const call = readCall(tools, { id: 'c', name: tool?.definition.name ?? '', arguments: written })
    const context = { mesh: noMesh, idempotencyKey: 'k', taskId: null, signal, written }
    const answer = await tool?.run(call.input, context)
    expect(answer?.output).toContain(written)
    // In traces and in the loop detector, the digits are text.
    expect(call.shown).toMatchObject({ z: '12345678901234567890', a: '0.10000000000000000001' })
    const other = readCall(tools, { id: 'd', name: 'say_line', arguments: written.replace('90,', '91,') })
    expect(other.key.paramsHash).not.toBe(call.key.paramsHash)
  } finally {
    await room.close()
  }
})

test.each([
  '{"id":9007199254740993,"list":[1.0,-0,1e400,{"a":0.1000000000000000055}],"text":"1.0","n":7}',
  '[12345678901234567890]',
  '9007199254740993',
])('a model gets the numbers of structured content as the server wrote them: %s', async (numbers) => {
  const room = aToolset({ raw: [raw] }, [], { NUMBERS: numbers })
  try {
    const tools = await room.offer([], { mesh: noMesh, signal })
    const tool = tools.find(({ definition }) => definition.name.endsWith('say_numbers'))
    const answer = await tool?.run({}, { mesh: noMesh, idempotencyKey: 'k', taskId: null, signal })
    expect(String(answer?.output).replaceAll(/\s/g, '')).toBe(numbers)
  } finally {
    await room.close()
  }
})

describe('what servers say before anything is asked of them', () => {
  test('what servers say before anything is asked of them is bounded for all of them together, however much is in its form', async () => {
    const room = aToolset({ wide: [program, 'wide'] })
    try {
      const tools = await room.offer([], { mesh: noMesh, signal })
      expect(tools).toHaveLength(65)
      expect(schemasOf(tools).length).toBeLessThan(schemasMaxChars + 65 * 100)
    } finally {
      await room.close()
    }
  })

  test('what servers say before anything is asked of them of their failure is returned on request, and is in no prompt', async () => {
    const room = aToolset({ gone: [program, 'broken'] })
    try {
      const [tool] = await room.offer([], { mesh: noMesh, signal })
      expect(tool?.definition.description).toContain('gone: failed')
      expect(tool?.definition.description).not.toContain('no settings file')
      expect(room.statuses()[0]?.detail).toContain('no settings file')
    } finally {
      await room.close()
    }
  })
})
