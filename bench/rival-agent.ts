import { execFile, spawn } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { CachingProvider } from '../tests/support/caching-provider.ts'
import { answerOf, commandsByTurn, commandsOf, questionOf } from '../tests/support/billed-conversation.ts'

/** An agent of another system, as its publisher offers it in npm. */
export interface RivalAgent {
  readonly name: string
  readonly version: string
  /** Its program below `node_modules`. */
  readonly program: string
  /** Its tool that runs a command. */
  readonly tool: string
  /** The variables with which it calls a provider of Anthropic's API at this address. */
  readonly environment: (address: string) => Readonly<Record<string, string>>
  /** The arguments of one turn; all but the first continue the conversation. */
  readonly turn: (question: string, isFirst: boolean) => readonly string[]
}

const model = 'claude-sonnet-5'
const platform = `${process.platform}-${process.arch}`
/** Longest time of one turn, milliseconds. */
const turnMaxMs = 180_000

export const rivalAgents: readonly RivalAgent[] = [
  {
    name: '@anthropic-ai/claude-code',
    version: '2.1.332',
    program: `@anthropic-ai/claude-code-${platform}/claude`,
    tool: 'Bash',
    environment: (address) => ({
      ANTHROPIC_API_KEY: 'bench',
      ANTHROPIC_BASE_URL: address,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
    }),
    turn: (question, isFirst) => [
      ...(isFirst ? [] : ['--continue']),
      '--model',
      model,
      '--allowedTools',
      'Bash',
      '--print',
      question,
    ],
  },
  {
    name: 'opencode-ai',
    version: '1.18.33',
    program: `opencode-${platform.replace('win32', 'windows')}/bin/opencode`,
    tool: 'bash',
    environment: (address) => ({
      OPENCODE_DISABLE_AUTOUPDATE: '1',
      OPENCODE_DISABLE_MODELS_FETCH: '1',
      // Each start installs a package from the registry under a lock, for which the next start waits; here it fails at once.
      npm_config_registry: 'http://127.0.0.1:1/',
      OPENCODE_CONFIG_CONTENT: JSON.stringify({
        share: 'disabled',
        permission: { bash: 'allow' },
        provider: {
          anthropic: {
            options: { baseURL: `${address}/v1`, apiKey: 'bench' },
            models: { [model]: {} },
          },
        },
      }),
    }),
    turn: (question, isFirst) => [
      'run',
      ...(isFirst ? [] : ['--continue']),
      '--model',
      `anthropic/${model}`,
      question,
    ],
  },
]

/** Installs the agent into the folder, without running any script of its packages. Returns the path of its program. */
export async function installRival(agent: RivalAgent, folder: string, signal: AbortSignal): Promise<string> {
  const place = ['install', '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund']
  await promisify(execFile)('npm', [...place, `${agent.name}@${agent.version}`], { signal })
  return join(folder, 'node_modules', agent.program)
}

/** Runs the conversation of the bench with the agent. Rejects if a turn does not end as scripted. */
export async function converseWithRival(
  agent: RivalAgent,
  provider: CachingProvider,
  at: { readonly program: string; readonly home: string; readonly signal: AbortSignal },
): Promise<void> {
  await mkdir(at.home, { recursive: true })
  for (const turn of commandsByTurn.keys()) {
    const calls = commandsOf(turn).map((command) => ({
      call: agent.tool,
      input: { command, description: 'Counts' },
    }))
    provider.script([...calls, { words: answerOf(turn) }])
    const said = await runTurn(agent, provider, { ...at, args: agent.turn(questionOf(turn), turn === 0) })
    if (!said.includes(answerOf(turn))) throw new Error(`${agent.name} answered ${said.slice(-400)}`)
  }
}

function runTurn(
  agent: RivalAgent,
  { port }: CachingProvider,
  at: {
    readonly program: string
    readonly home: string
    readonly signal: AbortSignal
    readonly args: readonly string[]
  },
): Promise<string> {
  const { PATH = '' } = process.env
  const environment = { PATH, HOME: at.home, ...agent.environment(`http://127.0.0.1:${port}`) }
  const signal = AbortSignal.any([at.signal, AbortSignal.timeout(turnMaxMs)])
  return new Promise((resolve, reject) => {
    const child = spawn(at.program, at.args, {
      cwd: at.home,
      env: environment,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    // A process that the agent left behind has its pipes open, and the bench would wait for it.
    const endAll = () => endGroup(child.pid)
    signal.addEventListener('abort', endAll, { once: true })
    child.once('exit', endAll)
    let said = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        said += text
      })
    child.once('error', reject)
    child.once('close', () => {
      signal.removeEventListener('abort', endAll)
      if (signal.aborted) reject(new Error(`${agent.name} did not end its turn: ${said.slice(-400)}`))
      else resolve(said)
    })
  })
}

/** Ends a process that was started as the leader of a group, and all processes that it has started. */
function endGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // The whole group has ended.
  }
}
