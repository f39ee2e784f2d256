import { connect } from 'node:http2'
import { Agent, get } from 'node:https'
import type { TLSSocket } from 'node:tls'
import {
  anAuthority,
  anHttp2Site,
  anInspectingProxy,
  aTlsSite,
} from '../packages/testing/src/inspection-harness.ts'
import { rotated } from './bench.ts'
import type { Bench, BenchOptions, BenchReport } from './bench.ts'
import { startRivalInspector } from './rival-inspector.ts'
import { median, pairedRatio } from './statistics.ts'
import { figure, ratio } from './table.ts'

/** Requests of one round over one connection, and the size of one download. */
const requests = 200
const downloadBytes = 64 * 1024 * 1024

/** Ways over HTTP/2 lead to a server of their own; all others to one server. */
const labels = {
  inspected: 'inspected',
  tunnel: 'a tunnel',
  rival: 'mitmproxy',
  inspectedHttp2: 'inspected, HTTP/2',
  tunnelHttp2: 'a tunnel, HTTP/2',
}
type Way = keyof typeof labels
const hosts = {
  inspected: 'inspected.site.test',
  tunnel: 'tunnel.site.test',
  rival: 'localhost',
  inspectedHttp2: 'inspected.site.test',
  tunnelHttp2: 'tunnel.site.test',
} satisfies Record<Way, string>
const floorOf = {
  inspected: 'tunnel',
  tunnel: 'tunnel',
  rival: 'tunnel',
  inspectedHttp2: 'tunnelHttp2',
  tunnelHttp2: 'tunnelHttp2',
} satisfies Record<Way, Way>

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
  const answer = (url: string | undefined) => (url === '/large' ? Buffer.alloc(downloadBytes) : 'an answer')
  const site = await aTlsSite(outside, '*.site.test', (request, response) => {
    response.end(answer(request.url))
  })
  const newer = await anHttp2Site(outside, '*.site.test', (request, response) => {
    response.end(answer(request.url))
  })
  const ports = [site.port, newer.port]
  const proxy = await anInspectingProxy({ hosts: [hosts.inspected], outside, ports })
  const ca = [proxy.fleet.certificate, outside.certificate]
  const openBy = (host: string) => proxy.open(`${host}:${site.port}`, { ca })
  const openHttp2 = (host: string) => proxy.open(`${host}:${newer.port}`, { ca, ALPNProtocols: ['h2'] })
  const rival = await startRivalInspector(folder).catch((error: unknown) => `not measured: ${String(error)}`)
  const open: Partial<Record<Way, () => Promise<TLSSocket>>> = {
    inspected: () => openBy(hosts.inspected),
    tunnel: () => openBy(hosts.tunnel),
    ...(typeof rival === 'string' ? {} : { rival: () => rival.open(site.port) }),
    inspectedHttp2: () => openHttp2(hosts.inspected),
    tunnelHttp2: () => openHttp2(hosts.tunnel),
  }
  const measured: Measured[] = []
  try {
    for (let round = 0; round < runs; round++) {
      signal.throwIfAborted()
      progress(`round ${round + 1} of ${runs}`)
      for (const [name, opened] of rotated(Object.entries(open), round)) {
        const way = name as Way
        const client = await opened()
        const isHttp2 = client.alpnProtocol === 'h2'
        const fetching = isHttp2
          ? fetchOverHttp2(client, `https://${hosts[way]}:${newer.port}`)
          : fetchOver(client, `${hosts[way]}:${site.port}`)
        measured.push({ way, ...(await measureOver(fetching)) })
      }
    }
  } finally {
    if (typeof rival !== 'string') await rival.close()
    await proxy.close()
    await site.close()
    await newer.close()
  }
  return report(measured, typeof rival === 'string' ? rival : null)
}

interface Fetching {
  /** Returns the number of bytes of the answer. */
  fetchOnce(path: string): Promise<number>
  close(): void
}

function fetchOver(client: TLSSocket, host: string): Fetching {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  Object.assign(agent, { createConnection: () => client })
  return {
    fetchOnce: (path) =>
      new Promise((resolve, reject) => {
        const request = get({ agent, path, headers: { host } }, (reply) => {
          let bytes = 0
          reply.on('data', (chunk: Buffer) => (bytes += chunk.length)).once('end', () => resolve(bytes))
        })
        request.once('error', reject)
      }),
    close: () => agent.destroy(),
  }
}

function fetchOverHttp2(client: TLSSocket, origin: string): Fetching {
  // Libraries for HTTP/2 open their windows further than the least that the protocol allows.
  const settings = { initialWindowSize: 1024 * 1024 }
  const session = connect(origin, { createConnection: () => client, settings })
  session.once('connect', () => session.setLocalWindowSize(4 * 1024 * 1024))
  return {
    fetchOnce: (path) =>
      new Promise((resolve, reject) => {
        let bytes = 0
        const stream = session.request({ ':path': path })
        stream.on('data', (chunk: Buffer) => (bytes += chunk.length)).once('end', () => resolve(bytes))
        stream.once('error', reject)
      }),
    close: () => session.destroy(),
  }
}

/** Requests one after the other over one connection, and then one download. */
async function measureOver({ fetchOnce, close }: Fetching): Promise<Omit<Measured, 'way'>> {
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
  close()
  return { requestMs: median(durations), megabytesPerSecond: bytes / 1024 ** 2 / seconds }
}

function report(measured: readonly Measured[], absent: string | null): BenchReport {
  const of = (way: Way) => measured.filter((one) => one.way === way)
  const rows = Object.entries(labels).map(([name, label]) => {
    const way = name as Way
    const [own, floor] = [of(way), of(floorOf[way])]
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
