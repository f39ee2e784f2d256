/** Indexes of the memory cells that a process shares with the thread that terminates it. */
export const cell = { untilMs: 0, stopped: 1 } as const

export interface EndOrder {
  readonly cells: BigInt64Array
  readonly watchEveryMs: number
}
