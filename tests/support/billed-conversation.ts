import { heartbeatApi, heartbeatEndpoints } from '@flotilla/protocol/heartbeat-api'
import { asOpenAi } from './as-openai.ts'
import type { CachingProvider, ScriptedAnswer, Wire } from './caching-provider.ts'
import { startMesh } from './mesh-process.ts'
import type { MeshProcess } from './mesh-process.ts'
import type { PromptBill } from './prompt-prices.ts'

/** Number of commands in each turn; a turn ends with a text answer: 12 results in 20 rounds. */
export const commandsByTurn: readonly number[] = [2, 1, 2, 1, 2, 1, 2, 1]

export const wires: Readonly<
  Record<
    Wire,
    { readonly kind: string; readonly provider: string; readonly model: string; readonly label: string }
  >
> = {
  anthropic: { kind: 'anthropic', provider: 'bench', model: 'claude-sonnet-5', label: 'Anthropic' },
  openai: { kind: 'openai-compatible', provider: 'bench', model: 'gpt-5-mini', label: 'OpenAI' },
  'openai-marks': {
    kind: 'openai-compatible',
    // On loopback only this provider may be asked for the marks that OpenAI's own API also takes.
    provider: 'openrouter',
    model: 'openai/gpt-5.6',
    label: 'OpenAI GPT-5.6',
  },
  'openai-items': {
    kind: 'openai-compatible',
    provider: 'bench',
    model: 'gpt-5.4-mini',
    label: 'OpenAI, Responses',
  },
}

/** Settings of the mesh, and the models that the settings choose for a purpose, whose calls are billed too. */
interface BilledSettings extends Readonly<Record<string, unknown>> {
  readonly chosen?: Readonly<Record<string, string>>
  /** The window of the models; by default so large that the agent makes no extra call to extract facts. */
  readonly windowTokens?: number
  /** The name of the model at the provider, in place of the usual one. */
  readonly model?: string
}

/** Starts a mesh whose agents use a provider that bills. The caller stops the mesh. */
export async function startBilledMesh(
  wire: Wire,
  { port }: CachingProvider,
  { chosen = {}, windowTokens = 1_000_000, model = wires[wire].model, ...settings }: BilledSettings = {},
): Promise<MeshProcess> {
  const { kind, provider } = wires[wire]
  const price = { input_per_mtok: 3, cached_input_per_mtok: 0.3, output_per_mtok: 15 }
  const billed = { context: windowTokens, price }
  const openAi = wire === 'openai-items' ? await asOpenAi(`http://127.0.0.1:${port}`) : null
  const mesh = await startMesh({
    environment: { FLOTILLA_LOG_LEVEL: 'warn', ...openAi?.environment },
    settings: {
      ...settings,
      default_model: `${provider}/${model}`,
      providers: { [provider]: { kind, base_url: openAi?.baseUrl ?? `http://127.0.0.1:${port}/v1` } },
      models: {
        ...chosen,
        ...Object.fromEntries(Object.values(chosen).map((name) => [name, billed])),
        [`${provider}/${model}`]: billed,
      },
    },
  })
  await mesh.createWorker('worker', { budget: { daily_usd: 1000, monthly_usd: 30_000 } })
  if (openAi === null) return mesh
  const stop = async () => {
    await mesh.stop()
    await openAi.close()
  }
  return { ...mesh, stop }
}

/** Runs one conversation with an agent and returns the bills of its model calls. */
export async function converse(
  mesh: MeshProcess,
  provider: CachingProvider,
  agent: string,
): Promise<readonly PromptBill[]> {
  const bills: PromptBill[] = []
  for (const [turn, commands] of commandsByTurn.entries()) {
    bills.push(...(await askScripted(mesh, provider, { agent, turn, commands })))
  }
  return bills
}

/** Runs heartbeats of an agent that find nothing to do, and returns the bills of their model calls. */
export async function beat(
  mesh: MeshProcess,
  provider: CachingProvider,
  { agent, times }: { readonly agent: string; readonly times: number },
): Promise<readonly PromptBill[]> {
  const before = provider.bills().length
  for (let count = 0; count < times; count += 1) {
    provider.script([{ words: 'HEARTBEAT_OK' }])
    const reply = await mesh.call(heartbeatEndpoints.heartbeatRun, { params: { id: agent }, body: {} })
    const { run } = heartbeatApi.heartbeatRun.response.parse(reply.json())
    if (run?.outcome?.status !== 'done') throw new Error(`a heartbeat ended as ${JSON.stringify(run)}`)
  }
  return provider.bills().slice(before)
}

/** Returns the commands of a turn of that conversation: each prints some 6 KB, different for each command. */
export function commandsOf(turn: number, count = commandsByTurn[turn] ?? 0): readonly string[] {
  const done = commandsByTurn.slice(0, turn).reduce((sum, of) => sum + of, 0)
  return Array.from({ length: count }, (_, at) => {
    const first = (done + at + 1) * 10_000
    return `seq ${first} ${first + 1000}`
  })
}

/** The question of a turn, and the answer that ends it. */
export const questionOf = (turn: number): string =>
  `Question ${turn}: count for me, and say what you have seen.`
export const answerOf = (turn: number): string => `Answer ${turn}: counted.`

/** Runs one turn of that conversation with this many commands. Rejects if the turn does not end as scripted. */
export async function askScripted(
  mesh: MeshProcess,
  provider: CachingProvider,
  { agent, turn, commands }: { readonly agent: string; readonly turn: number; readonly commands: number },
): Promise<readonly PromptBill[]> {
  const calls = commandsOf(turn, commands).map((command) => ({ command }))
  return askCalling(mesh, provider, { agent, turn, calls })
}

/** Runs one turn of that conversation with these calls. Rejects if the turn does not end as scripted. */
export async function askCalling(
  mesh: MeshProcess,
  provider: CachingProvider,
  {
    agent,
    turn,
    calls,
  }: { readonly agent: string; readonly turn: number; readonly calls: readonly ScriptedAnswer[] },
): Promise<readonly PromptBill[]> {
  const before = provider.bills().length
  provider.script([...calls, { words: answerOf(turn) }])
  const run = await mesh.ask(questionOf(turn), { agent, session: 'bench' })
  if (run.outcome?.status !== 'done') throw new Error(`a run ended as ${JSON.stringify(run.outcome)}`)
  if (!run.outcome.text.startsWith(answerOf(turn))) throw new Error(`another answer: ${run.outcome.text}`)
  return provider.bills().slice(before)
}
