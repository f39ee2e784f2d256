import { openLine } from './http-line.ts'
import type { Exchange, HttpLine } from './http-line.ts'

/** One measurement: this many exchanges over this many keep-alive connections, each with one call at a time. */
export interface LoadOrder {
  readonly host: string
  readonly port: number
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly connections: number
  readonly requests: number
  /** The expected end of the body, without trailing whitespace; another end is a failure. */
  readonly tail: string
}

export interface LoadResult {
  readonly wallMs: number
  readonly totalMs: readonly number[]
  readonly firstBodyByteMs: readonly number[]
  readonly failures: number
  /** The reason of the first failure. */
  readonly failure: string | null
}

/** Number of failures after which a measurement is aborted. */
const failuresMax = 20

export async function runLoad(order: LoadOrder): Promise<LoadResult> {
  const request = Buffer.from(
    [
      `POST ${order.path} HTTP/1.1`,
      `host: ${order.host}:${order.port}`,
      'content-type: application/json',
      `content-length: ${Buffer.byteLength(order.body)}`,
      ...Object.entries(order.headers).map(([name, value]) => `${name}: ${value}`),
      '',
      order.body,
    ].join('\r\n'),
  )
  const totalMs: number[] = []
  const firstBodyByteMs: number[] = []
  let begun = 0
  let failures = 0
  let failure: string | null = null

  function judge(done: Exchange): void {
    if (done.status === 200 && done.tail.trimEnd().endsWith(order.tail)) {
      totalMs.push(done.totalMs)
      firstBodyByteMs.push(done.firstBodyByteMs)
      return
    }
    failures += 1
    failure ??=
      done.status === 200 ? `an answer that breaks off: ${done.tail}` : `HTTP ${done.status}: ${done.tail}`
  }

  async function work(first: HttpLine): Promise<void> {
    let line = first
    while (begun < order.requests && failures < failuresMax) {
      begun += 1
      try {
        judge(await line.exchange(request))
      } catch (error) {
        failures += 1
        failure ??= error instanceof Error ? error.message : String(error)
        line.close()
        line = await openLine(order.host, order.port)
      }
    }
    line.close()
  }

  const lines = await Promise.all(
    Array.from({ length: order.connections }, () => openLine(order.host, order.port)),
  )
  const startedAt = performance.now()
  await Promise.all(lines.map(work))
  return { wallMs: performance.now() - startedAt, totalMs, firstBodyByteMs, failures, failure }
}

if (import.meta.main) {
  process.on('message', (order: LoadOrder) => {
    runLoad(order).then(
      (result) => process.send?.(result),
      (error: unknown) => process.send?.({ error: String(error) }),
    )
  })
  process.once('disconnect', () => process.exit(0))
}
