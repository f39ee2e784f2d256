import { ownerMustActExitCode } from '@flotilla/protocol/owner-must-act'
import { backoffMs } from '@flotilla/protocol/backoff'

/** How a supervised mesh ended. */
export interface MeshEnd {
  /** Null where a signal ended it. */
  readonly code: number | null
  readonly signal: string | null
  /** Of the problem that it told its supervisor; null where it told none. */
  readonly problem: string | null
  /** Whether it was ready to work before it ended. */
  readonly wasReady: boolean
  /** How long it ran, milliseconds. */
  readonly livedMs: number
}

/** The first restart waits this long, each further one twice as long as the one before, milliseconds. */
const firstDelayMs = 500
/** No restart waits longer, milliseconds. */
const longestDelayMs = 30_000
/** A start that the storage of the machine refused waits no longer, since the storage may heal at any time. */
const storageDelayMs = 2000
/** A mesh that ran for this long resets the restart delays, milliseconds. */
const soundAfterMs = 60_000

const storageProblems: readonly (string | null)[] = ['disk-full', 'storage-failing', 'too-many-files']

/** What a supervisor does after an end; `failures` counts the ends in a row. Pure. */
export type NextStep =
  | { readonly restart: false; readonly why: string }
  | {
      readonly restart: true
      readonly delayMs: number
      readonly failures: number
      /** The storage refused the start: the next waits until the home takes a small file. */
      readonly untilWritable: boolean
    }

export function nextStep(end: MeshEnd, failures: number): NextStep {
  if (end.code === 0) return { restart: false, why: 'it was asked to end' }
  if (end.code === ownerMustActExitCode) {
    return { restart: false, why: 'a restart cannot fix it; the owner must change something first' }
  }
  const count = end.wasReady && end.livedMs >= soundAfterMs ? 1 : failures + 1
  const untilWritable = storageProblems.includes(end.problem)
  const most = untilWritable ? storageDelayMs : longestDelayMs
  return {
    restart: true,
    delayMs: backoffMs({ firstMs: firstDelayMs, maxMs: most }, count),
    failures: count,
    untilWritable,
  }
}

/** An end in words, for people. Pure. */
export function endWords({ code, signal, problem }: Pick<MeshEnd, 'code' | 'signal' | 'problem'>): string {
  const how = signal === null ? `exit code ${code}` : `killed by ${signal}`
  return problem === null ? how : `${how}, ${problem}`
}
