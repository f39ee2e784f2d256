import { randomBytes } from 'node:crypto'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { agentLinkClient } from '@flotilla/protocol/agent-link'
import type { Bench, BenchOptions, BenchReport } from './bench.ts'
import { rotated } from './bench.ts'
import { chooseCores, listeningPort, startContender } from './processes.ts'
import type { Contender } from './processes.ts'
import { median, pairedRatio } from './statistics.ts'
import { figure, ratio } from './table.ts'

const key = randomBytes(32)
const identity = 'start-1.scout'
const smallBytes = 200
const loads = [
  { name: 'a new connection, and one call', calls: 200, bytes: smallBytes, isKept: false, unit: 'ms' },
  { name: 'calls over one connection', calls: 3000, bytes: smallBytes, isKept: true, unit: '/s' },
  { name: 'one answer of 128 MB', calls: 1, bytes: 128 * 1024 * 1024, isKept: true, unit: 'MB/s' },
] as const
type Load = (typeof loads)[number]

interface Way {
  readonly label: string
  readonly listener: Contender
  readonly port: number
  readonly isKeyed: boolean
}

interface Measured {
  readonly way: string
  readonly load: string
  readonly value: number
  /** CPU time of the listener's process. */
  readonly cpuMs: number
}

export const agentLinkBench: Bench = {
  name: 'agent-link',
  claim: 'what the key between the mesh and agents on other machines costs, beside plain HTTP',
  defaultRuns: 7,
  run: measure,
}

async function measure({ runs, progress, signal }: BenchOptions): Promise<BenchReport> {
  const cores = chooseCores()
  const started: Contender[] = []
  const open = async (label: string, isKeyed: boolean): Promise<Way> => {
    const script = join(import.meta.dirname, 'agent-link-listener.ts')
    const args = [isKeyed ? 'keyed' : 'plain', key.toString('hex')]
    const listener = startContender({ script, args, core: cores?.contender ?? null })
    started.push(listener)
    return { label, listener, isKeyed, port: await listeningPort(listener, signal) }
  }
  try {
    const ways = [await open('plain HTTP (floor)', false), await open('TLS 1.3 with a key', true)]
    for (const way of ways) for (const load of loads) await run(way, load)
    const measured: Measured[] = []
    for (let round = 0; round < runs; round += 1) {
      progress(`round ${round + 1} of ${runs}`)
      for (const load of loads) {
        for (const way of rotated(ways, round)) {
          signal.throwIfAborted()
          const before = way.listener.cpuMs()
          const value = await run(way, load)
          measured.push({ way: way.label, load: load.name, value, cpuMs: way.listener.cpuMs() - before })
        }
      }
    }
    return report(ways, measured)
  } finally {
    for (const listener of started) await listener.stop()
  }
}

/** Returns the result in the load's unit: milliseconds of one call, calls a second, or megabytes a second. */
async function run({ port, isKeyed }: Way, { calls, bytes, isKept, unit }: Load): Promise<number> {
  const http = new Agent({ keepAlive: isKept, maxSockets: 1 })
  if (isKeyed) {
    const link = agentLinkClient({ identity, key })
    http.createConnection = () => connect({ host: '127.0.0.1', port, ...link })
  }
  const began = performance.now()
  for (let done = 0; done < calls; done += 1) await call(http, port, bytes)
  const tookMs = performance.now() - began
  http.destroy()
  if (unit === 'ms') return tookMs / calls
  return unit === '/s' ? (calls / tookMs) * 1000 : bytes / 1e6 / (tookMs / 1000)
}

function call(agent: Agent, port: number, bytes: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const asked = request({ agent, host: '127.0.0.1', port, path: `/${bytes}` }, (reply) => {
      let heard = 0
      reply.on('data', (piece: Buffer) => (heard += piece.length))
      reply.on('error', reject)
      reply.on('end', () => (heard === bytes ? resolve() : reject(new Error(`${heard} of ${bytes} bytes`))))
    })
    asked.on('error', reject)
    asked.end()
  })
}

function report(ways: readonly Way[], measured: readonly Measured[]): BenchReport {
  const of = (way: string, load: string) => measured.filter((one) => one.way === way && one.load === load)
  const floor = ways[0]?.label ?? ''
  const rows = loads.flatMap(({ name, unit }) =>
    ways.map(({ label }) => {
      const own = of(label, name)
      const values = own.map(({ value }) => value)
      const beside = pairedRatio(
        values,
        of(floor, name).map(({ value }) => value),
      )
      return [
        `${name}: ${label}`,
        `${figure(median(values), unit === 'ms' ? 2 : 0)} ${unit}`,
        ratio(beside),
        `${figure(median(own.map(({ cpuMs }) => cpuMs)), 0)} ms`,
      ]
    }),
  )
  return {
    tables: [
      {
        title: 'Lines to agents on other machines, on loopback',
        columns: ['load', 'median', 'of the floor', 'CPU of the listener'],
        rows,
        notes: [
          'Both ends prove themselves by the key, and each connection has fresh ones (X25519 with ML-KEM).',
          'Connections are kept, so the first row is paid once for each of them.',
        ],
      },
    ],
    figures: { measured },
  }
}
