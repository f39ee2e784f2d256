import type { CallKind, CarrierName } from './carriers.ts'
import type { LoadResult } from './load-generator.ts'

/** One kind of load on a carrier, with fixed counts. */
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
  /** CPU time of the carrier's process during the load; NaN for the fake upstream itself. */
  readonly cpuMs: number
}

/** The reason why a carrier cannot serve a kind of call, by carrier and kind, such as `rival stream`. */
export type Refusals = ReadonlyMap<string, string>

export function kindOf(stream: boolean): CallKind {
  return stream ? 'stream' : 'plain'
}
