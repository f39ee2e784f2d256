import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { programNodeFlags } from '@flotilla/protocol/built-program'
import { fillPath } from '@flotilla/protocol/endpoint'
import { headers } from '@flotilla/protocol/headers'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { moneyEndpoints } from '@flotilla/protocol/money-api'
import { holdMark, modelName } from './model-call.ts'
import { freePort } from './free-port.ts'
import { startContender } from './processes.ts'
import type { Contender } from './processes.ts'
import { meshProgram } from '../tests/support/programs.ts'

/** The model gateway as a program of an agent uses it: real process, real database, and an active run that pays. */
export interface MeshGateway {
  readonly contender: Contender
  readonly host: string
  readonly port: number
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** The gateway's name for the fake upstream's model. */
  readonly model: string
  /** Address of the forward proxy with the token of the agent's programs. */
  readonly proxyUrl: string
  /** Returns what the mesh reports to have accounted for, which shows that budgets were enforced. */
  accounts(): Promise<string>
}

const agentId = 'bench'
const readyTimeoutMs = 60_000
const askEveryMs = 100
/** No number of rounds exhausts this limit; the default of a fleet ended a bench of nine. */
const dailyUsd = 1000
/** A price makes every call reserve and settle money. */
const settings = (upstreamPort: number) => ({
  default_model: `bench/${modelName}`,
  providers: {
    bench: {
      kind: 'openai-compatible',
      base_url: `http://127.0.0.1:${upstreamPort}/v1`,
      api_key: 'bench_api_key',
    },
  },
  models: { [`bench/${modelName}`]: { price: { input_per_mtok: 0.15, output_per_mtok: 0.6 } } },
  rate_limits: { llm: 1_000_000, http: 1_000_000 },
})

/**
 * Starts the mesh with a home of its own and an agent under the `process` runtime, gives that agent a chat whose
 * model call stays open, and takes the program token that the agent's programs would use.
 */
export async function startMeshGateway(options: {
  readonly upstreamPort: number
  readonly folder: string
  readonly core: number | null
  readonly signal: AbortSignal
  /** `egress` of settings.json. */
  readonly egress?: Readonly<Record<string, unknown>>
}): Promise<MeshGateway> {
  const home = join(options.folder, 'home')
  await mkdir(join(home, 'config'), { recursive: true, mode: 0o700 })
  const written = { ...settings(options.upstreamPort), egress: options.egress ?? {} }
  await writeFile(join(home, 'config', 'settings.json'), JSON.stringify(written), { mode: 0o600 })
  const ports = [await freePort(), await freePort()]
  const contender = startContender({
    nodeArgs: programNodeFlags,
    script: meshProgram(),
    args: [
      'serve',
      '--home',
      home,
      '--port',
      `${ports[0]}`,
      '--agent-port',
      `${ports[1]}`,
      '--runtime',
      'process',
    ],
    environment: { FLOTILLA_SYSTEM_BENCH_API_KEY: 'not-a-key', FLOTILLA_LOG_LEVEL: 'warn' },
    core: options.core,
  })
  try {
    const url = await readyUrl(contender, options.signal)
    await call(url, meshHumanEndpoints.agentCreate, {
      id: agentId,
      role: 'holds a run open',
      budget: { daily_usd: dailyUsd, monthly_usd: 30 * dailyUsd },
    })
    await call(url, moneyEndpoints.budgetSet, { scope: 'fleet', id: '', daily_usd: dailyUsd })
    // The model never answers; the run lasts until this caller disconnects at the end of the bench.
    void call(
      url,
      { ...meshHumanEndpoints.chat, path: fillPath(meshHumanEndpoints.chat.path, { id: agentId }) },
      { message: holdMark },
    ).catch(() => {})
    const variables = await agentVariables(options.signal)
    await waitForModelCall(url, options.signal)
    const base = new URL(variables.baseUrl)
    return {
      contender,
      host: base.hostname,
      port: Number(base.port),
      path: `${base.pathname}/chat/completions`,
      headers: { authorization: `Bearer ${variables.apiKey}` },
      model: `bench/${modelName}`,
      proxyUrl: variables.proxyUrl,
      accounts: async () => {
        const { agents } = (await call(url, meshHumanEndpoints.costs)) as {
          agents: { agent_id: string; calls: number; today_usd: number }[]
        }
        const own = agents.find((agent) => agent.agent_id === agentId)
        return `${own?.calls ?? 0} calls, ${(own?.today_usd ?? 0).toFixed(4)} USD`
      },
    }
  } catch (error) {
    await contender.stop()
    throw error
  }
}

async function readyUrl(contender: Contender, signal: AbortSignal): Promise<string> {
  const lines = createInterface({ input: contender.child.stdout ?? process.stdin, signal })
  for await (const line of lines) {
    const told = toldBy(line)
    if (told.ready && told.url !== undefined) {
      // The output is read on, because a full pipe would block the log of the mesh.
      contender.child.stdout?.resume()
      return told.url
    }
  }
  throw new Error(`the mesh ended before it was ready: ${contender.lastWords()}`)
}

function toldBy(line: string): { readonly ready?: boolean; readonly url?: string } {
  try {
    return JSON.parse(line) as { ready?: boolean; url?: string }
  } catch {
    return {}
  }
}

async function call(
  url: string,
  endpoint: { readonly method: string; readonly path: string },
  body?: unknown,
): Promise<unknown> {
  const reply = await fetch(new URL(endpoint.path, url), {
    method: endpoint.method,
    headers: { 'content-type': 'application/json', [headers.requestedWith]: 'flotilla-bench' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await reply.text()
  if (!reply.ok) throw new Error(`${endpoint.method} ${endpoint.path}: HTTP ${reply.status} ${text}`)
  return JSON.parse(text)
}

/** Reads the environment of the agent's programs from the newest process that carries the agent's name. */
async function agentVariables(
  signal: AbortSignal,
): Promise<{ readonly baseUrl: string; readonly apiKey: string; readonly proxyUrl: string }> {
  return until(signal, 'the agent of the bench did not start', async () => {
    const pids = (await readdir('/proc'))
      .filter((name) => /^\d+$/.test(name))
      .toSorted((a, b) => Number(b) - Number(a))
    for (const pid of pids) {
      const text = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '')
      const variables = new Map(
        text
          .split('\0')
          .map((entry) => [entry.slice(0, entry.indexOf('=')), entry.slice(entry.indexOf('=') + 1)]),
      )
      if (variables.get('FLOTILLA_AGENT_ID') !== agentId) continue
      const baseUrl = variables.get('OPENAI_BASE_URL')
      const apiKey = variables.get('OPENAI_API_KEY')
      const proxyUrl = variables.get('HTTP_PROXY')
      if (baseUrl && apiKey && proxyUrl) return { baseUrl, apiKey, proxyUrl }
    }
    return null
  })
}

async function waitForModelCall(url: string, signal: AbortSignal): Promise<void> {
  await until(signal, 'the run of the bench did not begin', async () => {
    const { runs } = (await call(url, meshHumanEndpoints.runs)) as { runs: { state: string }[] }
    return runs.some((run) => run.state === 'running') ? true : null
  })
}

async function until<Value>(
  signal: AbortSignal,
  complaint: string,
  look: () => Promise<Value | null>,
): Promise<Value> {
  const end = performance.now() + readyTimeoutMs
  while (performance.now() < end) {
    const found = await look()
    if (found !== null) return found
    await delay(askEveryMs, undefined, { signal })
  }
  throw new Error(complaint)
}
