import type { CallKind, CarrierName } from './carriers.ts'
import type { LoadResult } from './load-generator.ts'

/** One way of loading a carrier, with fixed counts. */
export interface Load {
  readonly name: LoadName
  readonly stream: boolean
  readonly connections: number
  readonly requests: number
}

export type LoadName = 'plain-one' | 'plain-many' | 'stream-one' | 'stream-many'

export interface Measured {
  readonly carrier: CarrierName
  readonly load: LoadName
  readonly round: number
  readonly result: LoadResult
  /** Processor time of the carrier's process during the load; NaN for the fake upstream itself. */
  readonly cpuMs: number
}

/** Carrier and kind of call, as `rival stream`, to the reason why it cannot carry one at all. */
export type Refusals = ReadonlyMap<string, string>

export function kindOf(stream: boolean): CallKind {
  return stream ? 'stream' : 'plain'
}
