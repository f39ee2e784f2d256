import { Agent, get } from 'node:https'
import type { TLSSocket } from 'node:tls'
import { anAuthority, anInspectingProxy, aTlsSite } from '../packages/testing/src/inspection-harness.ts'
import { rotated } from './bench.ts'
import type { Bench, BenchOptions, BenchReport } from './bench.ts'
import { startRivalInspector } from './rival-inspector.ts'
import { median, pairedRatio } from './statistics.ts'
import { figure, ratio } from './table.ts'

/** Requests of one round over one connection, and the size of one download. */
const requests = 200
const downloadBytes = 64 * 1024 * 1024

/** All ways lead to one server. */
const labels = { inspected: 'inspected', tunnel: 'a tunnel', rival: 'mitmproxy' }
type Way = keyof typeof labels
const hosts = { inspected: 'inspected.site.test', tunnel: 'tunnel.site.test', rival: 'localhost' }

interface Measured {
  readonly way: Way
  /** The median duration of one request over an open connection, in milliseconds. */
  readonly requestMs: number
  readonly megabytesPerSecond: number
}

export const inspectionBench: Bench = {
  name: 'inspection',
  claim: 'what a request to an inspected host costs, against a tunnel and mitmproxy to the same server',
  defaultRuns: 7,
  run: measure,
}

async function measure({ runs, folder, progress, signal }: BenchOptions): Promise<BenchReport> {
  const outside = await anAuthority('outside')
  const site = await aTlsSite(outside, '*.site.test', (request, response) => {
    if (request.url === '/large') response.end(Buffer.alloc(downloadBytes))
    else response.end('an answer')
  })
  const proxy = await anInspectingProxy({ hosts: [hosts.inspected], outside, ports: [site.port] })
  const openBy = (host: string) =>
    proxy.open(`${host}:${site.port}`, { ca: [proxy.fleet.certificate, outside.certificate] })
  const rival = await startRivalInspector(folder).catch((error: unknown) => `not measured: ${String(error)}`)
  const open: Partial<Record<Way, () => Promise<TLSSocket>>> = {
    inspected: () => openBy(hosts.inspected),
    tunnel: () => openBy(hosts.tunnel),
    ...(typeof rival === 'string' ? {} : { rival: () => rival.open(site.port) }),
  }
  const measured: Measured[] = []
  try {
    for (let round = 0; round < runs; round++) {
      signal.throwIfAborted()
      progress(`round ${round + 1} of ${runs}`)
      for (const [name, opened] of rotated(Object.entries(open), round)) {
        const way = name as Way
        measured.push({ way, ...(await measureOver(await opened(), `${hosts[way]}:${site.port}`)) })
      }
    }
  } finally {
    if (typeof rival !== 'string') await rival.close()
    await proxy.close()
    await site.close()
  }
  return report(measured, typeof rival === 'string' ? rival : null)
}

/** Requests one after the other over one connection, and then one download. */
async function measureOver(client: TLSSocket, host: string): Promise<Omit<Measured, 'way'>> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  Object.assign(agent, { createConnection: () => client })
  const fetchOnce = (path: string) =>
    new Promise<number>((resolve, reject) => {
      const request = get({ agent, path, headers: { host } }, (reply) => {
        let bytes = 0
        reply.on('data', (chunk: Buffer) => (bytes += chunk.length)).once('end', () => resolve(bytes))
      })
      request.once('error', reject)
    })
  const durations: number[] = []
  for (let at = 0; at < requests; at++) {
    const begin = performance.now()
    await fetchOnce('/')
    durations.push(performance.now() - begin)
  }
  const begin = performance.now()
  const bytes = await fetchOnce('/large')
  const seconds = (performance.now() - begin) / 1000
  if (bytes !== downloadBytes) throw new Error(`${bytes} bytes arrived`)
  agent.destroy()
  return { requestMs: median(durations), megabytesPerSecond: bytes / 1024 ** 2 / seconds }
}

function report(measured: readonly Measured[], absent: string | null): BenchReport {
  const of = (way: Way) => measured.filter((one) => one.way === way)
  const floor = of('tunnel')
  const rows = Object.entries(labels).map(([way, label]) => {
    const own = of(way as Way)
    if (own.length === 0) return [label, 'absent', '', '', '']
    const rates = own.map((one) => one.megabytesPerSecond)
    const added = own.map((one, round) => one.requestMs - (floor[round]?.requestMs ?? 0))
    return [
      label,
      `${figure(median(own.map((one) => one.requestMs)), 2)} ms`,
      `${figure(median(added), 2)} ms`,
      `${figure(median(rates), 0)} MB/s`,
      ratio(
        pairedRatio(
          rates,
          floor.map((one) => one.megabytesPerSecond),
        ),
      ),
    ]
  })
  return {
    tables: [
      {
        title: 'inspection: requests and bytes to an inspected host',
        columns: ['', 'a request', 'added', 'a download', 'of the tunnel'],
        rows,
        notes: [
          'Program, proxy and server share one process; mitmproxy has a process of its own and does not verify the server.',
          'An inspected connection decrypts and encrypts each byte once more.',
          ...(absent === null ? [] : [`mitmproxy: ${absent}`]),
        ],
      },
    ],
    figures: { measured },
  }
}
