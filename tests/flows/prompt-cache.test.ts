import { heartbeatEndpoints } from '@flotilla/protocol/heartbeat-api'
import { coreTools, finderNames } from '@flotilla/protocol/findable-tools'
import { expect, onTestFinished, test } from 'vitest'
import { estimateFrame, estimateMessage } from '../../packages/agent/src/context/estimate-tokens.ts'
import {
  askCalling,
  askScripted,
  beat,
  commandsByTurn,
  converse,
  startBilledMesh,
} from '../support/billed-conversation.ts'
import { startCachingProvider } from '../support/caching-provider.ts'
import type { Body } from '../support/caching-provider.ts'
import { flotilla } from '../support/flotilla-command.ts'
import { editPermissions } from '../support/edit-permissions.ts'

const costShareMax = 0.25
const wires = ['anthropic', 'openai', 'openai-marks', 'openai-items'] as const

/** A mesh whose calls a caching provider bills by this wire. `ask` is one turn of the worker with these calls. */
async function billed(wire: (typeof wires)[number]) {
  const provider = await startCachingProvider(wire)
  onTestFinished(() => provider.close())
  const mesh = await startBilledMesh(wire, provider)
  onTestFinished(() => mesh.stop())
  const ask = (turn: number, calls: Parameters<typeof askCalling>[2]['calls']) =>
    askCalling(mesh, provider, { agent: 'worker', turn, calls })
  return { provider, mesh, ask }
}

test.each(wires)(
  'a conversation with %s costs a fraction of its tokens, because the provider has cached them',
  async (wire) => {
    const { provider, mesh } = await billed(wire)
    const bills = await converse(mesh, provider, 'operator')
    expect(bills).toHaveLength(commandsByTurn.reduce((sum, count) => sum + count + 1, 0))
    const sum = (field: 'tokens' | 'cost') => bills.reduce((total, bill) => total + bill[field], 0)
    expect(sum('cost') / sum('tokens')).toBeLessThan(costShareMax)
    // Each call reads all tokens of the previous call from the cache, except for the provider's rounding.
    const readsAllOf = (at: number, of = bills) =>
      expect(of[at]?.read).toBeGreaterThan((of[at - 1]?.tokens ?? 0) * 0.9)
    for (let at = 1; at < bills.length; at += 1) readsAllOf(at)

    // People see what the cache saved, in the costs and in the trace.
    const costs = await flotilla(mesh, 'costs')
    expect(costs.out).toMatch(
      /Saved by prompt caches: \$\d\.\d\d\. \d+ tokens read \(\d\d % of the tokens in\)/,
    )
    const { total } = JSON.parse((await flotilla(mesh, 'costs', '--json')).out)
    const read = bills.reduce((all, bill) => all + bill.read, 0)
    expect(total.cache).toMatchObject({ read_tokens: read, read_usd: expect.closeTo((read * 0.3) / 1e6, 6) })
    expect(total.cache.saved_usd).toBeGreaterThan(total.usd)
    const runs = JSON.parse((await flotilla(mesh, 'runs', '--agent', 'operator', '--json')).out)
    const trace = await flotilla(mesh, 'trace', runs.runs[0].id)
    expect(trace.out).toContain(`${bills.at(-1)?.read} from the cache`)

    // A changed permission changes the tools: one call has no cache hit, and the next ones have again.
    await editPermissions(mesh, 'operator', { can_edit_agent_config: false })
    const turn = commandsByTurn.length
    const later = await askScripted(mesh, provider, { agent: 'operator', turn, commands: 2 })
    expect(later).toHaveLength(3)
    expect(later[0]?.read).toBeLessThan((bills.at(-1)?.tokens ?? 0) * 0.5)
    readsAllOf(1, later)
    const changed = JSON.parse((await flotilla(mesh, 'runs', '--agent', 'operator', '--json')).out)
    const shown = await flotilla(mesh, 'trace', changed.runs[0].id)
    expect(shown.out.match(/cache lost: [a-z ]+/gi)).toEqual([
      expect.stringMatching(/cache lost: (tools|system)/),
    ])
    readsAllOf(2, later)
  },
)

test('heartbeats and summaries are answered by the models that the settings choose', async () => {
  const provider = await startCachingProvider('openai')
  onTestFinished(() => provider.close())
  const cheap = 'bench/gpt-5-nano'
  const mesh = await startBilledMesh('openai', provider, {
    chosen: { heartbeat: cheap, compaction: cheap },
  })
  onTestFinished(() => mesh.stop())
  await askScripted(mesh, provider, { agent: 'worker', turn: 0, commands: 1 })
  provider.script([{ words: 'HEARTBEAT_OK' }])
  const beat = await mesh.call(heartbeatEndpoints.heartbeatRun, { params: { id: 'worker' }, body: {} })
  expect(beat.json()).toMatchObject({ skipped: null })
  const bodies = provider.bodies()
  expect(bodies.map((body) => body['model'])).toEqual(['gpt-5-mini', 'gpt-5-mini', 'gpt-5-nano'])
  expect(bodies.map((body) => body['reasoning_effort'])).toEqual([undefined, undefined, 'low'])
  const listed = await flotilla(mesh, 'models')
  expect(listed.out).toMatch(/gpt-5-nano .*\(heartbeats of all\) \(summaries of all\)/)
})

/**
 * What the conversation of the bench and its heartbeats cost before prompts were marked and tools deferred, in tokens
 * at the full input price, and the largest share of it that they may cost now. OpenAI cached beginnings before too, so
 * there all but the reads of the prompt's stable part is paid once either way (`docs/operations/measures.md`).
 */
const costBefore = {
  anthropic: {
    operator: { rounds: [434_523, 0.35], first: [11_242, 0.4], later: [11_226, 0.4] },
    worker: { rounds: [337_228, 0.35], first: [6248, 0.4], later: [6248, 0.4] },
  },
  openai: {
    operator: { rounds: [74_496, 0.72], first: [2998, 0.4], later: [1177, 0.4] },
    worker: { rounds: [59_268, 0.86], first: [1836, 0.4], later: [684, 0.4] },
  },
} as const

test.each(['anthropic', 'openai'] as const)(
  'a conversation with %s and its heartbeats cost at most their share of what they cost before',
  async (wire) => {
    const { provider, mesh } = await billed(wire)
    for (const agent of ['operator', 'worker'] as const) {
      const sum = (bills: readonly { readonly cost: number }[]) =>
        bills.reduce((total, { cost }) => total + cost, 0)
      const { rounds, first, later } = costBefore[wire][agent]
      expect(sum(await converse(mesh, provider, agent)) / rounds[0]).toBeLessThanOrEqual(rounds[1])
      const beats = await beat(mesh, provider, { agent, times: 3 })
      expect(sum(beats.slice(0, 1)) / first[0]).toBeLessThanOrEqual(first[1])
      expect(sum(beats.slice(1)) / 2 / later[0]).toBeLessThanOrEqual(later[1])
    }
  },
)

/** Tokens of a first prompt, by the agent's own count. */
const firstPromptMax = { operator: 4000, worker: 2500 } as const

/** The agent counts its own form of a prompt, which is that of OpenAI. */
function countedByTheAgent(body: Body): number {
  const tools = body['tools'] as { function: Parameters<typeof estimateFrame>[1][number] }[]
  const [system, ...messages] = body['messages'] as Parameters<typeof estimateMessage>[0][]
  const frame = estimateFrame(
    system?.content ?? '',
    tools.map((tool) => tool.function),
  )
  return frame + messages.reduce((sum, message) => sum + estimateMessage(message), 0)
}

test.each(['operator', 'worker'] as const)('the first prompt of the %s is small', async (agent) => {
  const provider = await startCachingProvider('openai')
  onTestFinished(() => provider.close())
  // With it, the prompt holds all core tools.
  const search = { web_search: { provider: 'searxng', url: `http://127.0.0.1:${provider.port}` } }
  const mesh = await startBilledMesh('openai', provider, search)
  onTestFinished(() => mesh.stop())
  await askScripted(mesh, provider, { agent, turn: 0, commands: 0 })
  const [body = {}] = provider.bodies()
  const names = (body['tools'] as { function: { name: string } }[]).map((tool) => tool.function.name)
  const core = coreTools[agent].filter((name) => name !== 'use_skill')
  expect(names).toEqual([...core, ...finderNames].toSorted())
  expect(countedByTheAgent(body)).toBeLessThanOrEqual(firstPromptMax[agent])
  expect(JSON.stringify(body['messages'])).toMatch(/More tools of yours.*- blackboard: .*write_blackboard/)
})

test.each(wires)(
  'a picture is paid in full once with %s, and read from the cache with the conversation afterwards',
  async (wire) => {
    const { ask } = await billed(wire)
    const make = String.raw`(printf '\x89PNG\r\n\x1a\n'; head -c 30000 /dev/zero) > a.png`
    const bills = [
      ...(await ask(0, [
        { command: make },
        { call: 'view_image', input: { path: 'a.png' } },
        { command: 'seq 1 1000' },
      ])),
      ...(await ask(1, [{ command: 'seq 2000 3000' }])),
    ]
    const tokensOfPicture = (30_000 * 4) / 3 / 4
    expect((bills[2]?.tokens ?? 0) - (bills[1]?.tokens ?? 0)).toBeGreaterThan(tokensOfPicture)
    for (const [at, bill] of bills.entries())
      if (at > 0) expect(bill.read).toBeGreaterThan((bills[at - 1]?.tokens ?? 0) * 0.9)
  },
)

test.each(wires)(
  'a learning of a running conversation with %s leaves its cached beginning valid',
  async (wire) => {
    const { provider, ask } = await billed(wire)
    const bills = [
      ...(await ask(0, [{ command: 'seq 1 1000' }, { command: 'echo the sea is wet; exit 3' }])),
      ...(await ask(1, [{ command: 'seq 2000 3000' }])),
      ...(await ask(2, [])),
    ]
    for (const [at, bill] of bills.entries())
      if (at > 0) expect(bill.read).toBeGreaterThan((bills[at - 1]?.tokens ?? 0) * 0.9)
    const { messages: ofChat, input, system } = provider.bodies().at(-1) ?? {}
    const messages = ofChat ?? input
    expect(JSON.stringify(messages).match(/Learnings since this conversation began/g)).toHaveLength(1)
    expect(JSON.stringify([system, (messages as unknown[])[0]])).not.toContain('the sea is wet')
  },
)

test.each(wires)(
  'tools that are found and called in a conversation with %s leave its cached beginning valid',
  async (wire) => {
    const { provider, ask } = await billed(wire)
    const entry = { key: 'output/count', value: 7 }
    // A provider with a tool search of its own gets found tools as tools.
    const hasSearch = wire === 'anthropic' || wire === 'openai-items'
    const callOf = (name: string, input: object) =>
      hasSearch ? { call: name, input } : { call: 'call_tool', input: { name, arguments: input } }
    const bills = [
      ...(await ask(0, [
        { command: 'seq 1 1000' },
        { call: 'find_tools', input: { query: 'blackboard' } },
        callOf('write_blackboard', entry),
        { call: 'read_blackboard', input: { key: entry.key } },
      ])),
      ...(await ask(1, [
        { call: 'find_tools', input: { query: 'schedule, artifacts' } },
        callOf('list_artifacts', {}),
      ])),
    ]
    expect(bills).toHaveLength(8)
    const { tools, messages, input } = provider.bodies().at(-1) ?? {}
    const answers = JSON.stringify(messages ?? input)
    expect(answers).toContain('write_blackboard')
    expect(answers.match(/"tool_search_output"/g) ?? []).toHaveLength(wire === 'openai-items' ? 2 : 0)
    expect(answers.includes('"encrypted_content":"sealed-')).toBe(wire === 'openai-items')
    const references = answers.match(/"tool_reference","tool_name":"(?:write_blackboard|list_artifacts)"/g)
    expect(references ?? []).toHaveLength(wire === 'anthropic' ? 2 : 0)
    const deferred = (tools as { name?: string; defer_loading?: boolean }[]).filter(
      (tool) => tool.defer_loading,
    )
    expect(deferred.map(({ name }) => name).includes('write_blackboard')).toBe(wire === 'anthropic')
    expect(JSON.stringify(tools).includes('"call_tool"')).toBe(!hasSearch)
    expect(answers.includes('Call these with call_tool')).toBe(!hasSearch)
    expect(answers).toMatch(/\\"value\\":\s*7/)
    for (const [at, bill] of bills.entries())
      if (at > 0) expect(bill.read).toBeGreaterThan((bills[at - 1]?.tokens ?? 0) * 0.9)
  },
)
