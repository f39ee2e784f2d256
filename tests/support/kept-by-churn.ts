import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Number of concurrent visitors, as of calls in a busy mesh; not always the oldest leaves first. */
const atOnce = 32
const visitors = 10_000
const rounds = 3
/** Number of visitors between two minor garbage collections. */
const betweenCollections = 200

/**
 * Returns the bytes that survive minor garbage collections alone after `visitors` objects were created and
 * released, each with `payloadNumbers` numbers; ideally 0. In a busy mesh, every object that survives minor
 * collections makes each of them longer. The least of several rounds, because earlier tests of the process may still
 * allocate meanwhile.
 */
export function keptByChurn(enter: (payload: readonly number[]) => () => unknown): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as (options?: { readonly type: 'minor' }) => void
  return Math.min(...Array.from({ length: rounds }, () => keptInOneRound(enter, collect)))
}

function keptInOneRound(
  enter: (payload: readonly number[]) => () => unknown,
  collect: (options?: { readonly type: 'minor' }) => void,
): number {
  const inside: (() => unknown)[] = []
  collect()
  const before = process.memoryUsage().heapUsed
  for (let visitor = 0; visitor < visitors; visitor += 1) {
    inside.push(enter(Array.from({ length: payloadNumbers }, () => visitor)))
    if (inside.length > atOnce) inside.splice(visitor % atOnce, 1)[0]?.()
    if (visitor % betweenCollections === 0) collect({ type: 'minor' })
  }
  for (const leave of inside) leave()
  for (let again = 0; again < 2; again += 1) collect({ type: 'minor' })
  return process.memoryUsage().heapUsed - before
}

export const payloadNumbers = 100
/** A tenth of the bytes that all visitors allocate, at 8 bytes a number. */
export const keptMaxBytes = (visitors * payloadNumbers * 8) / 10
