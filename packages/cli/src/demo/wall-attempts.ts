import { createHash } from 'node:crypto'
import * as z from 'zod/mini'
import type { KnownSecret, WallFacts } from './wall-facts.ts'

/** The result of an attempt. */
export interface Verdict {
  readonly held: boolean
  /** What really happened, as text for a person. */
  readonly happened: string
  /** False if the attempt had no target, so that it proves nothing about the isolation. */
  readonly attempted?: boolean
}

/** One attempt from inside a worker: a real program, and the judgement of its report. */
export interface WallAttempt {
  readonly id: string
  readonly title: string
  /** The program that makes the attempt, for the table. */
  readonly by: string
  /** True if the attempt would send traffic to other machines if no isolation stopped it. */
  readonly leavesMachine: boolean
  /** True if the attempt uses up a resource that concurrent attempts need. */
  readonly alone?: boolean
  readonly command: (facts: WallFacts) => string
  /** Throws if the report is malformed. */
  readonly judge: (report: unknown, facts: WallFacts) => Verdict
}

const attempts = 'demo/attempts'

const outcomesSchema = z.object({ outcomes: z.array(z.object({ target: z.string(), outcome: z.string() })) })
const fetchesSchema = z.object({
  /** True if the programs of this agent have a proxy. */
  proxied: z.boolean(),
  fetches: z.array(z.object({ url: z.string(), exit: z.number(), words: z.string() })),
})
const writesSchema = z.object({
  user: z.number(),
  writes: z.array(z.object({ path: z.string(), words: z.string() })),
})
const tmpSchema = z.object({ script: z.string(), program: z.string(), control: z.string() })
const processesSchema = z.object({ started: z.number(), wanted: z.number(), refusal: z.nullable(z.string()) })
const secretsSchema = z.object({
  files: z.number(),
  processes: z.number(),
  unreadable: z.number(),
  /** The number of other processes whose memory was readable. */
  memories: z.number(),
  found: z.record(z.string(), z.string()),
  token_shaped: z.number(),
  opened: z.array(z.string()),
  program_token_status: z.union([z.number(), z.string()]),
})
const status = z.union([z.number(), z.string()])
const chatSchema = z.object({
  none: status,
  program: status,
  forged: status,
  healthz: z.number(),
  listens: z.boolean(),
})

export const wallAttempts: readonly WallAttempt[] = [
  {
    id: 'other-worker',
    title: "reach the other worker's :8400",
    by: 'node',
    leavesMachine: false,
    command: ({ other }) =>
      `node ${attempts}/connect.mjs ${other.addresses.map((address) => `${address}:${other.port}`).join(' ')}`,
    judge: (report, { other }) => {
      const { outcomes } = outcomesSchema.parse(report)
      const alive = other.healthz === 200 || other.listens
      const reached = outcomes.filter((one) => one.outcome === 'connected')
      return {
        held: alive && outcomes.length > 0 && reached.length === 0,
        happened: `${outcomes.map((one) => `${one.target} ${one.outcome}`).join(', ')}; the other worker ${alive ? 'was up and answering' : 'did not answer itself, so this proves nothing'}`,
      }
    },
  },
  {
    id: 'host-ports',
    title: "reach the host's other ports",
    by: 'node',
    leavesMachine: false,
    command: ({ self, canary }) =>
      `node ${attempts}/connect.mjs ${self.api.host}:${self.api.port} ${hostTargets(self.api.host, canary).join(' ')}`,
    judge: (report, { self, canary }) => {
      const { outcomes } = outcomesSchema.parse(report)
      const api = outcomes.find((one) => one.target === `${self.api.host}:${self.api.port}`)
      const others = outcomes.filter((one) => one !== api)
      const reached = others.filter((one) => one.outcome === 'connected')
      const taken = canary.connections()
      return {
        held: api?.outcome === 'connected' && others.length > 0 && reached.length === 0 && taken === 0,
        happened:
          reached.length > 0 || taken > 0
            ? `the listening port ${canary.port} was reached: ${reached.map((one) => one.target).join(', ')}`
            : `port ${canary.port} ${[...new Set(others.map((one) => one.outcome))].join('/')} on ${others.length} addresses, though open to the host itself; the agent API ${api?.outcome ?? 'was not tried'}`,
      }
    },
  },
  {
    id: 'metadata-address',
    title: 'reach the metadata address 169.254.169.254',
    by: 'curl',
    leavesMachine: true,
    command: () => `bash ${attempts}/fetch.sh direct http://169.254.169.254/latest/meta-data/`,
    judge: (report) => judgeFetches(report),
  },
  {
    id: 'metadata-through-proxy',
    title: 'reach it through the proxy',
    by: 'curl',
    leavesMachine: true,
    command: () =>
      `bash ${attempts}/fetch.sh proxy http://169.254.169.254/latest/meta-data/ https://169.254.169.254/ http://127.0.0.1:22/`,
    judge: (report) => {
      const { fetches, proxied } = fetchesSchema.parse(report)
      if (!proxied) return { held: true, attempted: false, happened: 'programs have no proxy' }
      // Status codes of the proxy itself mean that the proxy denied the request; other codes come from the target.
      const passed = fetches.filter((one) => one.exit === 0 && !/^(?:4\d\d|5\d\d|000)/.test(one.words))
      return {
        held: fetches.length > 0 && passed.length === 0,
        happened: fetchWords(fetches),
      }
    },
  },
  {
    id: 'internet-without-proxy',
    title: 'reach the internet without the proxy',
    by: 'curl',
    leavesMachine: true,
    command: () => `bash ${attempts}/fetch.sh direct https://1.1.1.1/ http://example.com/`,
    judge: (report) => judgeFetches(report),
  },
  {
    id: 'write-root',
    title: 'write to /, /usr/bin and /etc',
    by: 'bash',
    leavesMachine: false,
    command: () => `bash ${attempts}/write-root.sh`,
    judge: (report) => {
      const { user, writes } = writesSchema.parse(report)
      const written = writes.filter((one) => one.words === 'written')
      return {
        held: user !== 0 && writes.length > 0 && written.length === 0,
        happened: `as user ${user}: ${writes.map((one) => `${one.path.replace('flotilla-demo-attempt', '…')} ${one.words}`).join(', ')}`,
      }
    },
  },
  {
    id: 'run-from-tmp',
    title: 'run a file from /tmp',
    by: 'bash',
    leavesMachine: false,
    command: () => `bash ${attempts}/run-from-tmp.sh`,
    judge: (report) => {
      const { script, program, control } = tmpSchema.parse(report)
      return {
        held: script !== 'ran' && program !== 'ran' && control === 'ran',
        happened: `script: ${script}; program: ${program}; the same program in /data: ${control}`,
      }
    },
  },
  {
    id: 'many-processes',
    title: 'start 300 processes',
    by: 'python3',
    leavesMachine: false,
    alone: true,
    command: () => `python3 ${attempts}/many-processes.py 300`,
    judge: (report) => {
      const { started, wanted, refusal } = processesSchema.parse(report)
      return {
        held: started > 0 && started < 256 && refusal !== null,
        happened: `${started} of ${wanted} started${refusal === null ? '' : `, then: ${refusal}`}`,
      }
    },
  },
  {
    id: 'find-secrets',
    title: 'find a provider key or the agent token',
    by: 'python3',
    leavesMachine: false,
    // The search has a low priority, so that it does not delay the answers that other attempts wait for. Without a
    // container, a low priority would also put it behind all other work of the machine.
    command: ({ secrets, control, isolates }) =>
      `${isolates ? 'nice -n 19 ' : ''}python3 ${attempts}/find-secrets.py '${JSON.stringify([...secrets, control].map(hashed))}' ${isolates ? '/data /run /tmp /briefing /opt /etc /home /root /var /dev/shm' : '.'}`,
    judge: (report, { control }) => {
      const search = secretsSchema.parse(report)
      const leaks = Object.entries(search.found).filter(([name]) => name !== control.name)
      const searched = `searched ${search.processes} environments, ${search.files} files and the memory of ${search.memories} processes that let themselves be read`
      const works = control.name in search.found
      const tokenShut = search.program_token_status === 401 || search.program_token_status === 403
      const words = [
        works ? `${searched} (the control was found)` : `${searched}, but not even the control was found`,
        ...leaks.map(([name, place]) => `${name} in ${place}`),
        ...(leaks.length === 0 ? ['no key'] : []),
        search.opened.length > 0
          ? `what opens the agent API in ${search.opened.join(', ')}`
          : `none of ${search.token_shaped} token-shaped strings opens the agent API`,
        `programs' own token there: ${search.program_token_status}`,
      ]
      return {
        held: works && leaks.length === 0 && search.opened.length === 0 && tokenShut,
        happened: words.join('; '),
      }
    },
  },
  {
    id: 'own-chat',
    title: "call its own agent's POST /chat on loopback",
    by: 'node',
    leavesMachine: false,
    command: () => `node ${attempts}/chat-on-loopback.mjs`,
    judge: (report) => {
      const { none, program, forged, healthz, listens } = chatSchema.parse(report)
      const statuses = [none, program, forged]
      const refused = healthz === 200 && statuses.every((code) => code === 401 || code === 403)
      // In a cluster an agent answers only clients with its key, even inside its own pod.
      const unheard = healthz === 0 && listens && statuses.every((code) => typeof code === 'string')
      return {
        held: refused || unheard,
        happened: `no token: ${none}; programs' token: ${program}; forged token: ${forged}; (its /healthz: ${healthz}${unheard ? '; it accepts connections but answers no request without its key' : ''})`,
      }
    },
  },
]

/** Returns a command line that runs the attempts concurrently; each output line begins with an attempt's id. Pure. */
export function sideBySide(together: readonly WallAttempt[], facts: WallFacts): string {
  const lines = together.map(({ id, command }) => `{ ${command(facts)}; } 2>&1 | sed 's/^/${id} /' &`)
  return [...lines, 'wait'].join('\n')
}

function hostTargets(gateway: string, canary: WallFacts['canary']): string[] {
  return [...new Set([gateway, ...canary.addresses])].map((address) => `${address}:${canary.port}`)
}

function judgeFetches(report: unknown): Verdict {
  const { fetches } = fetchesSchema.parse(report)
  return { held: fetches.length > 0 && fetches.every((one) => one.exit !== 0), happened: fetchWords(fetches) }
}

function fetchWords(fetches: readonly { url: string; exit: number; words: string }[]): string {
  return fetches
    .map(({ url, exit, words }) =>
      exit === 0
        ? `${url} answered ${words.trim()}`
        : `${url} failed: ${words
            .replace(/^\s*curl: \(\d+\)\s*/, '')
            .replace(/\s*\d{3}(?: \d{3})?\s*$/, '')
            .trim()}`,
    )
    .join('; ')
}

/**
 * Length and hash of the longest part that the search treats as one word. The value itself never enters the
 * container.
 */
function hashed({ name, value }: KnownSecret): { name: string; length: number; sha256: string } {
  const words = value.match(/[A-Za-z0-9_.~-]+/g) ?? ['']
  const longest = words.reduce((best, word) => (word.length > best.length ? word : best))
  return { name, length: longest.length, sha256: createHash('sha256').update(longest).digest('hex') }
}
