import { Agent, get } from 'node:https'
import type { TLSSocket } from 'node:tls'
import { anAuthority, anInspectingProxy, aTlsSite } from '../packages/testing/src/inspection-harness.ts'
import { rotated } from './bench.ts'
import type { Bench, BenchOptions, BenchReport } from './bench.ts'
import { median, pairedRatio } from './statistics.ts'
import { figure, ratio } from './table.ts'

/** Requests of one round over one connection, and the size of one download. */
const requests = 200
const downloadBytes = 64 * 1024 * 1024

/** Both names lead to one server; the proxy inspects the first. */
const ways = ['inspected.site.test', 'tunnel.site.test'] as const
type Way = (typeof ways)[number]

interface Measured {
  readonly way: Way
  /** The median duration of one request over an open connection, in milliseconds. */
  readonly requestMs: number
  readonly megabytesPerSecond: number
}

export const inspectionBench: Bench = {
  name: 'inspection',
  claim: 'what a request to an inspected host costs, against a tunnel to the same server',
  defaultRuns: 7,
  run: measure,
}

async function measure({ runs, progress, signal }: BenchOptions): Promise<BenchReport> {
  const outside = await anAuthority('outside')
  const site = await aTlsSite(outside, '*.site.test', (request, response) => {
    if (request.url === '/large') response.end(Buffer.alloc(downloadBytes))
    else response.end('an answer')
  })
  const proxy = await anInspectingProxy({ hosts: [ways[0]], outside, ports: [site.port] })
  const measured: Measured[] = []
  try {
    for (let round = 0; round < runs; round++) {
      signal.throwIfAborted()
      progress(`round ${round + 1} of ${runs}`)
      for (const way of rotated(ways, round)) {
        const open = () =>
          proxy.open(`${way}:${site.port}`, { ca: [proxy.fleet.certificate, outside.certificate] })
        measured.push({ way, ...(await measureOver(await open(), `${way}:${site.port}`)) })
      }
    }
  } finally {
    await proxy.close()
    await site.close()
  }
  return report(measured)
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

function report(measured: readonly Measured[]): BenchReport {
  const of = (way: Way) => measured.filter((one) => one.way === way)
  const rows = ways.map((way) => {
    const rates = of(way).map((one) => one.megabytesPerSecond)
    const floor = of('tunnel.site.test').map((one) => one.megabytesPerSecond)
    return [
      way === 'tunnel.site.test' ? 'a tunnel' : 'inspected',
      `${figure(median(of(way).map((one) => one.requestMs)), 2)} ms`,
      `${figure(median(rates), 0)} MB/s`,
      ratio(pairedRatio(rates, floor)),
    ]
  })
  return {
    tables: [
      {
        title: 'inspection: requests and bytes to an inspected host',
        columns: ['', 'a request', 'a download', 'of the tunnel'],
        rows,
        notes: [
          'Program, proxy and server share one process, so both rows contain the cost of the program and the server.',
          'An inspected connection decrypts and encrypts each byte once more.',
        ],
      },
    ],
    figures: { measured },
  }
}
