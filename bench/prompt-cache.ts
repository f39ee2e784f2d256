import {
  askCalling,
  beat,
  commandsByTurn,
  commandsOf,
  converse,
  startBilledMesh,
  wires,
} from '../tests/support/billed-conversation.ts'
import { startCachingProvider } from '../tests/support/caching-provider.ts'
import type { Wire } from '../tests/support/caching-provider.ts'
import type { PromptBill } from '../tests/support/prompt-prices.ts'
import type { Bench, BenchReport } from './bench.ts'
import { figure } from './table.ts'

const agents = ['operator', 'worker'] as const
const results = commandsByTurn.reduce((sum, count) => sum + count, 0)
const rounds = results + commandsByTurn.length

const beatsMeasured = 4

interface Measured {
  readonly wire: Wire
  readonly agent: (typeof agents)[number]
  readonly bills: readonly PromptBill[]
  /** Heartbeats that find nothing to do. */
  readonly beats: readonly PromptBill[]
}

/** A conversation in which the agent finds tools: by a tool search of the provider, or as text for a model without. */
interface MeasuredFinds {
  readonly label: string
  readonly bills: readonly PromptBill[]
}

/** Turns that find three groups of tools, and call one tool of each. */
const findingTurns = [
  ['blackboard', 'list_blackboard'],
  ['artifacts', 'list_artifacts'],
  ['subagents', 'list_subagents'],
] as const
const commandsAfterFind = 3

interface FindingModel {
  readonly label: string
  readonly wire: Wire
  readonly model: string
  readonly hasSearch: boolean
}

/** Claude 3.7 and GPT-5 have no tool search at their providers. */
const findingModels: readonly FindingModel[] = [
  { label: 'Anthropic, references', wire: 'anthropic', model: wires.anthropic.model, hasSearch: true },
  { label: 'Anthropic, text', wire: 'anthropic', model: 'claude-3-7-sonnet', hasSearch: false },
  { label: 'OpenAI, tool search', wire: 'openai-items', model: wires['openai-items'].model, hasSearch: true },
  { label: 'OpenAI, text by Responses', wire: 'openai-items', model: 'gpt-5-mini', hasSearch: false },
  { label: 'OpenAI, text by chat completions', wire: 'openai', model: wires.openai.model, hasSearch: false },
]

async function measureFinds({ label, wire, model, hasSearch }: FindingModel): Promise<MeasuredFinds> {
  const provider = await startCachingProvider(wire)
  try {
    const mesh = await startBilledMesh(wire, provider, { model })
    try {
      const bills: PromptBill[] = []
      for (const [turn, [group, tool]] of findingTurns.entries()) {
        const calls = [
          { call: 'find_tools', input: { query: group } },
          hasSearch ? { call: tool, input: {} } : { call: 'call_tool', input: { name: tool, arguments: {} } },
          ...commandsOf(turn, commandsAfterFind).map((command) => ({ command })),
        ]
        bills.push(...(await askCalling(mesh, provider, { agent: 'worker', turn, calls })))
      }
      return { label, bills }
    } finally {
      await mesh.stop()
    }
  } finally {
    await provider.close()
  }
}

export const promptCacheBench: Bench = {
  name: 'prompt-cache',
  claim: `input cost of a conversation of ${rounds} rounds with ${results} tool results, by the cache prices of Anthropic and OpenAI`,
  defaultRuns: 1,
  run: async ({ progress, signal }) => {
    const measured: Measured[] = []
    for (const wire of Object.keys(wires) as Wire[]) {
      const provider = await startCachingProvider(wire)
      try {
        const mesh = await startBilledMesh(wire, provider)
        try {
          for (const agent of agents) {
            signal.throwIfAborted()
            progress(`${wires[wire].label}: ${agent}`)
            const bills = await converse(mesh, provider, agent)
            const beats = await beat(mesh, provider, { agent, times: beatsMeasured })
            measured.push({ wire, agent, bills, beats })
          }
        } finally {
          await mesh.stop()
        }
      } finally {
        await provider.close()
      }
    }
    const finds: MeasuredFinds[] = []
    for (const one of findingModels) {
      signal.throwIfAborted()
      progress(`tools that are found: ${one.label}`)
      finds.push(await measureFinds(one))
    }
    return reportOf(measured, finds)
  },
}

function reportOf(measured: readonly Measured[], finds: readonly MeasuredFinds[]): BenchReport {
  const sum = (bills: readonly PromptBill[], field: keyof PromptBill) =>
    bills.reduce((total, bill) => total + bill[field], 0)
  return {
    tables: [
      {
        title: `Prompt cache: a conversation of ${rounds} rounds with ${results} tool results`,
        columns: ['', 'calls', 'first prompt', 'tokens', 'read', 'written', 'cost', 'of no cache'],
        rows: measured.map(({ wire, agent, bills }) => [
          `${wires[wire].label}, ${agent}`,
          String(bills.length),
          figure(bills[0]?.tokens ?? Number.NaN, 0),
          figure(sum(bills, 'tokens'), 0),
          figure(sum(bills, 'read'), 0),
          figure(sum(bills, 'written'), 0),
          figure(sum(bills, 'cost'), 0),
          figure(sum(bills, 'cost') / sum(bills, 'tokens'), 2),
        ]),
        notes: [
          'A token is four bytes. The cost is in tokens at the full input price: a read costs 0.1, a write 1.25 for five minutes and 2 for an hour at Anthropic and nothing more at OpenAI.',
          'Real mesh and real agent against providers on loopback that bill by the prefix they have stored, as the providers document it.',
        ],
      },
      {
        title: `Prompt cache: ${beatsMeasured} heartbeats that find nothing, one after the other`,
        columns: ['', 'calls', 'first prompt', 'first cost', 'cost of a later one'],
        rows: measured.map(({ wire, agent, beats }) => [
          `${wires[wire].label}, ${agent}`,
          String(beats.length),
          figure(beats[0]?.tokens ?? Number.NaN, 0),
          figure(beats[0]?.cost ?? Number.NaN, 0),
          figure(sum(beats.slice(1), 'cost') / Math.max(1, beats.length - 1), 0),
        ]),
        notes: [
          'The first heartbeat follows the conversation and shares its tools and the beginning of its system prompt.',
        ],
      },
      {
        title: `Prompt cache: ${findingTurns.length} turns of a worker that find tools and call them`,
        columns: ['', 'calls', 'first prompt', 'tokens', 'read', 'written', 'cost'],
        rows: finds.map(({ label, bills }) => [
          label,
          String(bills.length),
          figure(bills[0]?.tokens ?? Number.NaN, 0),
          ...(['tokens', 'read', 'written', 'cost'] as const).map((field) => figure(sum(bills, field), 0)),
        ]),
        notes: [
          'With a tool search at the provider, results refer to deferred tools or define them, and call_tool is not offered.',
        ],
      },
    ],
    figures: { measured, finds },
  }
}
