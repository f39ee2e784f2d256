import type { Bench, BenchOptions, BenchReport } from './bench.ts'
import { rotated } from './bench.ts'
import { startCarriers } from './carriers.ts'
import type { Carrier, Carriers } from './carriers.ts'
import { kindOf } from './gateway-measurement.ts'
import type { Load, Measured } from './gateway-measurement.ts'
import type { LoadOrder, LoadResult } from './load-generator.ts'
import { measureDurableCommits } from './durable-commit.ts'
import { modelCall, streamChunks } from './model-call.ts'
import { gatewayTables } from './model-gateway-tables.ts'
import { nextMessage } from './processes.ts'
import type { Contender } from './processes.ts'

const loads: readonly Load[] = [
  { name: 'plain-one', stream: false, connections: 1, requests: 300 },
  { name: 'stream-one', stream: true, connections: 1, requests: 150 },
  { name: 'plain-many', stream: false, connections: 32, requests: 4000 },
  { name: 'stream-many', stream: true, connections: 32, requests: 1000 },
]
const warmUpRequests = { plain: 1500, stream: 400 }
const warmUpConnections = 8
const firstRequests = 3
const measureTimeoutMs = 180_000

export const modelGatewayBench: Bench = {
  name: 'model-gateway',
  claim: `what the model gateway adds to a call with every guard on, plain and streamed in ${streamChunks} pieces`,
  defaultRuns: 7,
  run: async (options) => {
    const carriers = await startCarriers(options)
    try {
      return await measure(carriers, options)
    } finally {
      await carriers.close()
    }
  },
}

async function measure(carriers: Carriers, options: BenchOptions): Promise<BenchReport> {
  const { generator, pinned } = carriers
  const refusals = new Map<string, string>()
  for (const [name, reason] of carriers.absent) {
    for (const kind of ['plain', 'stream']) refusals.set(`${name} ${kind}`, `it did not start: ${reason}`)
  }
  for (const carrier of carriers.ready) {
    options.progress(`warming up: ${carrier.label}`)
    for (const stream of [false, true].filter((stream) => carrier.carries.includes(kindOf(stream)))) {
      const reason = await warmUp(generator, { carrier, stream, signal: options.signal })
      if (reason !== null) refusals.set(`${carrier.name} ${kindOf(stream)}`, reason)
    }
  }
  options.progress('measuring what the disk asks for a durable commit')
  const commitMs = measureDurableCommits(options.folder)
  const measured: Measured[] = []
  for (let round = 0; round < options.runs; round += 1) {
    options.progress(`round ${round + 1} of ${options.runs}`)
    for (const load of loads) {
      for (const carrier of rotated(carriers.ready, round)) {
        if (!carrier.carries.includes(kindOf(load.stream))) continue
        if (refusals.has(`${carrier.name} ${kindOf(load.stream)}`)) continue
        const requests = Math.ceil(load.requests * carrier.share)
        const before = carrier.contender?.cpuMs() ?? Number.NaN
        const result = await send(generator, orderOf(carrier, { ...load, requests }), options.signal)
        const cpuMs = (carrier.contender?.cpuMs() ?? Number.NaN) - before
        measured.push({ carrier: carrier.name, load: load.name, round, result, cpuMs })
      }
    }
  }
  const accounts = await carriers.accounts()
  return {
    tables: gatewayTables({ measured, refusals, pinned, accounts, commitMs }),
    figures: {
      pinned,
      accounts,
      commitMs,
      refusals: Object.fromEntries(refusals),
      measured: measured.map(flat),
    },
  }
}

/** Sends calls until the carrier is warm; returns null, or why it cannot serve such calls. */
async function warmUp(
  generator: Contender,
  asked: { readonly carrier: Carrier; readonly stream: boolean; readonly signal: AbortSignal },
): Promise<string | null> {
  const { carrier, stream, signal } = asked
  const first = await send(
    generator,
    orderOf(carrier, { stream, connections: 1, requests: firstRequests }),
    signal,
  )
  if (first.failures > 0) return first.failure ?? 'for no reason given'
  const requests = Math.ceil(warmUpRequests[kindOf(stream)] * carrier.share)
  await send(generator, orderOf(carrier, { stream, connections: warmUpConnections, requests }), signal)
  return null
}

function orderOf(carrier: Carrier, load: Omit<Load, 'name'>): LoadOrder {
  const { host, port, path, headers } = carrier.target
  const { stream, connections, requests } = load
  const call = modelCall(carrier.form, { stream, model: carrier.model })
  return { host, port, path, headers, connections, requests, ...call }
}

async function send(generator: Contender, order: LoadOrder, signal: AbortSignal): Promise<LoadResult> {
  const answer = nextMessage(generator, signal, measureTimeoutMs)
  generator.child.send(order)
  const result = (await answer) as LoadResult | { readonly error: string }
  if ('error' in result) throw new Error(result.error)
  return result
}

function flat({ result, ...measured }: Measured): Readonly<Record<string, unknown>> {
  return { ...measured, ...result }
}
