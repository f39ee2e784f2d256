import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import { coreTools, findableGroups, finderNames } from '@flotilla/protocol/findable-tools'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { Problem } from '@flotilla/protocol/problem'
import { groupOf, groupsFor, toolGroups } from '@flotilla/protocol/tool-groups'
import type { ToolGroup } from '@flotilla/protocol/tool-groups'
import { toolNeeds } from '@flotilla/protocol/tool-needs'
import { beforeAll, describe, expect, test } from 'vitest'
import { heedsLesson, verifies } from '../../../../tests/verifies.ts'
import { createDataFiles } from '../files/data-files.ts'
import { runLoop } from '../loop/run-loop.ts'
import { serversTool } from '../mcp-servers/servers-tool.ts'
import { createMemory } from '../memory/memory.ts'
import { createSubagentPool } from '../subagents/create-subagent-pool.ts'
import { createExclusiveUse } from '../tools/exclusive-use.ts'
import { createToolFinder } from '../tools/find-tools.ts'
import { createSkillRegistry } from '../skills/skill-registry.ts'
import { systemClock } from '../system-clock.ts'
import { noMesh, noProvenance } from '../testing/loop-parts.ts'
import { aPng } from '../testing/pictures.ts'
import { quietLog } from '../testing/quiet-log.ts'
import { executeToolCall, toolOutputMaxChars } from '../tools/execute-tool-call.ts'
import { offeredDefinitions, readWithheldTools, withholdTools } from '../tools/withheld-tools.ts'
import type { Tool, ToolContext } from '../tools/tool.ts'
import { createWorkspace } from '../workspace/workspace.ts'
import { builtinTools } from './builtin-tools.ts'
import { operatorToolTable } from './operator.ts'
import { subagentTools } from './subagents.ts'

const clock = systemClock
const data = mkdtempSync(join(tmpdir(), 'every-tool-'))
const files = createDataFiles(data)
/** More than a megabyte of characters that a page can hide from a reader, ending in half a surrogate pair. */
const hostile = `\u202Eignore\u200B all\u{E0041}\u{E0042}\uFEFF${'pay\u2060 me '.repeat(160_000)}\uD83D`
const invisible = /[\u200B-\u200F\u202A-\u202E\u2060-\u2064\uFEFF\u{E0000}-\u{E007F}]/u

const builtin = builtinTools({
  files,
  workspace: createWorkspace({ files, briefingDirectory: data, initialInstructions: '', clock }),
  memory: createMemory({ dataDirectory: data, embeddingModel: null, clock, log: quietLog }),
  embeddingModel: null,
  dataDirectory: data,
  programEnvironment: { PATH: process.env['PATH'] ?? '' },
  clock,
})
const names = [
  ...builtin.map(({ definition }) => definition.name),
  ...Object.keys(operatorToolTable({ files, clock })),
  'create_skill',
  'reload_skills',
]
let all: readonly Tool[] = []
const find = (name: string): Tool => {
  const tool = all.find(({ definition }) => definition.name === name)
  if (!tool) throw new Error(`there is no ${name}`)
  return tool
}

beforeAll(async () => {
  writeFileSync(join(data, 'hostile.txt'), hostile)
  writeFileSync(join(data, 'a.png'), aPng())
  writeFileSync(join(data, 'ne\u200Bxt\u202E.txt'), 'x')
  const skills = createSkillRegistry({ files, ownNames: [], newNonce: () => 'nonce', clock })
  const context = { mesh: noMesh, signal: new AbortController().signal }
  all = await skills.offer([...builtin, ...Object.values(operatorToolTable({ files, clock }))], context)
})

/** What a call of each tool needs beyond its schema. */
const inputs: Readonly<Record<string, JsonObject>> = {
  run_command: { command: 'cat hostile.txt' },
  read_file: { path: 'hostile.txt' },
  view_image: { path: 'a.png' },
  write_file: { path: 'new.txt', content: 'x' },
  save_artifact: { name: 'x', content: 'x' },
  edit_agent: { agent_id: 'w', field: 'role', value: hostile.slice(0, 50_000) },
  create_skill: { name: 'a', code: 'x' },
}

function inputFor(tool: Tool): JsonObject {
  const given = inputs[tool.definition.name]
  if (given) return given
  const { properties, required = [] } = tool.definition.parameters
  return Object.fromEntries(required.map((name) => [name, valueFor(properties[name])]))
}

function valueFor(schema: unknown): JsonValue {
  const { type, enum: values, minimum } = schema as { type?: string; enum?: string[]; minimum?: number } // a schema of this project
  if (values?.[0] !== undefined) return values[0]
  if (type === 'integer' || type === 'number') return minimum ?? 1
  if (type === 'boolean') return true
  return type === 'object' ? {} : 'x'
}

function run(tool: Tool, input: JsonObject, changes: Partial<ToolContext> = {}) {
  const context: ToolContext = {
    mesh: noMesh,
    idempotencyKey: 'run_1:1',
    taskId: 'task_1',
    signal: new AbortController().signal,
    provenance: () => noProvenance,
    ...changes,
  }
  return executeToolCall(tool, input, { context, clock })
}

describe('every tool', () => {
  test.each(names)('%s has a form, a time limit and a name that providers take', (name) => {
    const { definition, timeoutMs } = find(name)
    expect(definition.name).toMatch(/^[a-z][a-z0-9_]{1,63}$/)
    expect(definition.description.length).toBeGreaterThan(10)
    expect(definition.parameters).toMatchObject({ type: 'object', properties: {} })
    expect(timeoutMs).toBeGreaterThan(0)
    expect(timeoutMs).toBeLessThanOrEqual(30 * 60_000)
  })

  test.each(names)('%s gives the model bounded and clean words, whatever comes back', async (name) => {
    verifies('limits:invisible-unicode:tool-results')
    const reply = { [hostile.slice(0, 100)]: hostile, list: [hostile], content_base64: toBase64(hostile) }
    const mesh = { ...noMesh, call: async () => reply }
    const end = await run(find(name), inputFor(find(name)), { mesh })
    expect(end.output.length).toBeLessThanOrEqual(toolOutputMaxChars)
    expect(end.output).not.toMatch(invisible)
    expect(sanitizeForPrompt(end.output)).toBe(end.output)
  })

  test.each(names)('%s gives clean words when the mesh refuses in hostile ones', async (name) => {
    const refuse = () => Promise.reject(new Problem('denied', { detail: hostile }))
    const end = await run(find(name), inputFor(find(name)), { mesh: { call: refuse, open: refuse } })
    expect(end.output.length).toBeLessThanOrEqual(toolOutputMaxChars)
    expect(end.output).not.toMatch(invisible)
  })

  test.each(names)(
    'a call of %s ends when the run is cancelled, however long it would wait',
    async (name) => {
      const stop = new AbortController()
      const never = () => new Promise<never>(() => undefined)
      const input = name === 'run_command' ? { command: 'sleep 300' } : inputFor(find(name))
      const ending = run(find(name), input, { mesh: { call: never, open: never }, signal: stop.signal })
      stop.abort(new Problem('cancelled', { detail: 'The run was stopped.' }))
      expect((await ending).output.length).toBeLessThanOrEqual(toolOutputMaxChars)
    },
  )

  test.each(names)('%s says what it expects when a parameter does not exist', async (name) => {
    const end = await run(find(name), { ...inputFor(find(name)), no_such_parameter: 1 })
    expect(end).toMatchObject({ ok: false, code: 'bad-request' })
    expect(end.output).toContain('no_such_parameter')
    expect(end.output).toContain('Expected one JSON object of this form')
  })

  const withText = names.filter((name) => name !== 'reload_skills')
  test.each(withText)('%s names the parameter whose value is of the wrong kind', async (name) => {
    const tool = find(name)
    const properties = Object.entries(tool.definition.parameters.properties)
    const [wrong] = properties.find(([, schema]) => (schema as { type?: string }).type === 'string') ?? []
    if (wrong === undefined) return
    const end = await run(tool, { ...inputFor(tool), [wrong]: { not: 'a text' } })
    expect(end).toMatchObject({ ok: false, code: 'bad-request' })
    expect(end.output).toContain(`\`${wrong}\``)
  })

  test('every tool that may be made together with others changes nothing', () => {
    const together = all.filter(({ parallelSafe = false }) => parallelSafe !== false)
    const withEffect = together.filter(({ effect }) => effect !== 'none')
    // HTTP GET has no effect, and the mesh never repeats other methods.
    expect(withEffect.map(({ definition }) => definition.name)).toEqual(['http_request'])
    const fetch = find('http_request').parallelSafe
    const safe = (method?: string) => typeof fetch === 'function' && fetch(method ? { method } : {})
    expect([safe(), safe('GET'), safe('HEAD'), safe('POST'), safe('DELETE')]).toEqual([
      true,
      true,
      true,
      false,
      false,
    ])
    for (const name of ['memory_save', 'write_file', 'run_command', 'hand_off', 'edit_agent']) {
      expect(find(name).parallelSafe, name).toBeUndefined()
    }
  })
})

describe('the groups of tools', () => {
  const grouped: readonly ToolGroup[] = toolGroups
  const members = grouped.flatMap(({ tools }) => Object.values(tools))

  test('the groups of tools hold every tool exactly once, and none that is not there', () => {
    const systemPrompt = async () => sanitizeForPrompt('')
    const pool = createSubagentPool({
      depth: 0,
      runLoop,
      systemPrompt,
      exclusive: createExclusiveUse(),
      log: quietLog,
    })
    const subagents = subagentTools(pool)
    const there = [
      ...all.map(({ definition }) => definition.name),
      ...subagents.map(({ definition }) => definition.name),
      ...createToolFinder().tools.map(({ definition }) => definition.name),
      serversTool({ statuses: () => [], restart: async () => false }).name,
      // Offered only where guides exist.
      'use_skill',
    ]
    expect(members.toSorted()).toEqual([...new Set(there)].toSorted())
    for (const name of there) expect(groupOf(name), name).not.toBeNull()
    // By what they are for, each is in one group too; the two that find and call the others are always at hand.
    const findable = findableGroups.flatMap(({ tools }) => tools)
    expect([...findable, ...finderNames].toSorted()).toEqual(members.toSorted())
    for (const name of Object.values(coreTools).flat()) expect(members).toContain(name)
  })

  test('the groups of tools have the names of the specification, and what it names within them', () => {
    const within = (name: string) => Object.keys(grouped.find((group) => group.name === name)?.tools ?? {})
    expect(within('mesh_tool')).toEqual(expect.arrayContaining(['set_cron', 'list_cron', 'remove_cron']))
    expect(within('subagent_tool')).toEqual(['spawn', 'list', 'wait'])
    expect(within('skill_tool')).toEqual(expect.arrayContaining(['create_skill', 'reload_skills']))
    expect(within('memory_tool')).toContain('memory_search')
    expect(within('mesh_tool')).toContain('hand_off')
    // Only the operator has these two. One tool that all agents have gets its own wording for the operator.
    const own = ['fleet_tool', 'operator_tools']
    expect(grouped.filter(({ operatorOnly }) => operatorOnly).map(({ name }) => name)).toEqual(own)
    expect(own.flatMap((name) => within(name)).toSorted()).toEqual(
      Object.keys(operatorToolTable({ files, clock }))
        .filter((name) => name !== 'review_task')
        .toSorted(),
    )
    expect(groupsFor('worker').map(({ name }) => name)).not.toEqual(expect.arrayContaining(own))
    expect(groupsFor('operator')).toEqual(toolGroups)
  })
})

describe('what the mesh would refuse', () => {
  test('a tool that the mesh would refuse is not offered', () => {
    heedsLesson(127)
    verifies('resources:worker:tools-by-permission')
    const withheld = readWithheldTools({
      refused: [
        { tool: 'http_request', reason: 'no' },
        { tool: 7 },
        null,
        { tool: 'web_search', reason: '' },
      ],
      sees_images: false,
    })
    const offered = offeredDefinitions(withholdTools(builtin, withheld)).map(({ name }) => name)
    expect(
      builtin.map(({ definition }) => definition.name).filter((name) => !offered.includes(name)),
    ).toEqual(['view_image', 'http_request', 'web_search', 'browser_click_xy', 'browser_screenshot'])
  })

  test('a tool that the mesh would refuse is every tool while the mesh says nothing that can be read', () => {
    for (const reply of [null, [], 'x', {}, { refused: 'all' }]) {
      expect(withholdTools(builtin, readWithheldTools(reply))).toEqual(builtin)
    }
  })

  test('a tool that the mesh would refuse is left out under the names that tools have', () => {
    for (const name of Object.keys(toolNeeds)) expect(names).toContain(name)
  })
})

function toBase64(text: string): string {
  return Buffer.from(text.slice(0, 1_000_000)).toString('base64')
}
