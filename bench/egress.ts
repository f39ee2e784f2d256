import { join } from 'node:path'
import type { Bench, BenchOptions, BenchReport } from './bench.ts'
import { rotated } from './bench.ts'
import type { TunnelOrder, TunnelResult } from './egress-load.ts'
import { startMeshGateway } from './mesh-gateway.ts'
import { chooseCores, listeningPort, nextMessage, startContender } from './processes.ts'
import type { Contender } from './processes.ts'
import { median, pairedRatio } from './statistics.ts'
import { figure, ratio } from './table.ts'

const loads = [
  { name: 'connections, one at a time', tunnels: 300, atOnce: 1, bytesEach: 1 },
  { name: 'connections, 16 at once', tunnels: 1000, atOnce: 16, bytesEach: 1 },
  { name: 'one tunnel of 256 MB', tunnels: 1, atOnce: 1, bytesEach: 256 * 1024 * 1024 },
  { name: '8 tunnels of 32 MB', tunnels: 8, atOnce: 8, bytesEach: 32 * 1024 * 1024 },
] as const
const measureTimeoutMs = 120_000
const warmUp = { tunnels: 400, atOnce: 8, bytesEach: 4096 }

interface Way {
  readonly label: string
  readonly contender: Contender | null
  readonly proxy: TunnelOrder['proxy']
}

interface Measured {
  readonly way: string
  readonly load: string
  /** Connections or megabytes a second. */
  readonly rate: number
  /** CPU time of the measured process. */
  readonly cpuMs: number
}

export const egressBench: Bench = {
  name: 'egress',
  claim: 'what the forward proxy costs with every guard on, against a CONNECT proxy that does nothing else',
  defaultRuns: 7,
  run: measure,
}

async function measure({ runs, folder, progress, signal }: BenchOptions): Promise<BenchReport> {
  const cores = chooseCores()
  const core = cores?.contender ?? null
  const started: Contender[] = []
  const start = (script: string, on: number | null) => {
    const contender = startContender({ script: join(import.meta.dirname, script), core: on })
    started.push(contender)
    return contender
  }
  try {
    progress('starting the far end, the bare proxy and the mesh')
    const load = start('egress-load.ts', cores?.load ?? null)
    const farPort = await listeningPort(load, signal)
    const upstreamPort = await listeningPort(start('fake-upstream.ts', cores?.load ?? null), signal)
    const bare = start('bare-connect-proxy.ts', core)
    const barePort = await listeningPort(bare, signal)
    const egress = { allowed_private: [`127.0.0.1:${farPort}`] }
    const mesh = await startMeshGateway({ upstreamPort, folder, core, signal, egress })
    started.push(mesh.contender)
    const ours = new URL(mesh.proxyUrl)
    const login = Buffer.from(`${ours.username}:${ours.password}`).toString('base64')
    const ways: readonly Way[] = [
      { label: 'no proxy', contender: null, proxy: null },
      {
        label: 'bare CONNECT (floor)',
        contender: bare,
        proxy: { host: '127.0.0.1', port: barePort, authorization: '' },
      },
      {
        label: 'Flotilla forward proxy',
        contender: mesh.contender,
        proxy: { host: ours.hostname, port: Number(ours.port), authorization: `Basic ${login}` },
      },
    ]
    for (const way of ways) await send(load, { ...warmUp, proxy: way.proxy }, signal)
    const measured: Measured[] = []
    for (let round = 0; round < runs; round += 1) {
      progress(`round ${round + 1} of ${runs}`)
      for (const { name, ...order } of loads) {
        for (const way of rotated(ways, round)) {
          const before = way.contender?.cpuMs() ?? Number.NaN
          const { wallMs } = await send(load, { ...order, proxy: way.proxy }, signal)
          const cpuMs = (way.contender?.cpuMs() ?? Number.NaN) - before
          const amount = order.bytesEach > 1 ? (order.tunnels * order.bytesEach) / 1e6 : order.tunnels
          measured.push({ way: way.label, load: name, rate: (amount / wallMs) * 1000, cpuMs })
        }
      }
    }
    return report(ways, measured, cores !== null)
  } finally {
    for (const contender of started.toReversed()) await contender.stop()
  }
}

/** Throws if one tunnel failed: such a measurement does not count. */
async function send(load: Contender, order: TunnelOrder, signal: AbortSignal): Promise<TunnelResult> {
  const answer = nextMessage(load, signal, measureTimeoutMs)
  load.child.send(order)
  const result = (await answer) as TunnelResult | { readonly error: string }
  if ('error' in result) throw new Error(result.error)
  if (result.failures > 0) throw new Error(`${result.failures} tunnels failed: ${result.failure}`)
  return result
}

function report(ways: readonly Way[], measured: readonly Measured[], pinned: boolean): BenchReport {
  const ratesOf = (way: string, load: string) =>
    measured.filter((one) => one.way === way && one.load === load)
  const floor = ways[1]?.label ?? ''
  const rows = loads.flatMap((load) =>
    ways.map(({ label }) => {
      const own = ratesOf(label, load.name)
      const rates = own.map((one) => one.rate)
      const floorRates = ratesOf(floor, load.name).map((one) => one.rate)
      const unit = load.bytesEach > 1 ? 'MB/s' : '/s'
      return [
        `${load.name}: ${label}`,
        `${figure(median(rates), 0)} ${unit}`,
        ratio(pairedRatio(rates, floorRates)),
        figure(median(own.map((one) => one.cpuMs)), 0),
      ]
    }),
  )
  return {
    tables: [
      {
        title: 'egress: connections and bytes through the forward proxy',
        columns: ['', 'median', 'of the floor', 'CPU ms'],
        rows,
        notes: [
          'A connection is counted from its first packet to its last: CONNECT, the answer, one byte, the end.',
          'Our proxy checks token, run, permission, rate, filter and an exception of the owner for each, and counts it.',
          pinned
            ? 'The load and the remote end share one core; the measured process has the other.'
            : 'Cores could not be assigned, so the load slows the measured process.',
        ],
      },
    ],
    figures: { pinned, measured },
  }
}
