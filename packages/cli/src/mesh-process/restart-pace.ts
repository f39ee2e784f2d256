import { ownerMustActExitCode } from '@flotilla/protocol/owner-must-act'
import { backoffMs } from '@flotilla/protocol/backoff'

/** How a supervised mesh ended. */
export interface MeshEnd {
  /** Null if a signal ended it. */
  readonly code: number | null
  readonly signal: string | null
  /** Code of the problem that the mesh reported to its supervisor; null without a report. */
  readonly problem: string | null
  /** True if the mesh was ready to work before it ended. */
  readonly wasReady: boolean
  /** How long it ran, milliseconds. */
  readonly livedMs: number
}

/** The first restart waits this long, each further one twice as long as the one before, milliseconds. */
const firstDelayMs = 500
/** No restart waits longer, milliseconds. */
const longestDelayMs = 30_000
/**
 * After a start that the storage of the machine refused, the wait is never longer than this, because the
 * storage may recover at any time.
 */
const storageDelayMs = 2000
/** Starts that the storage refused count as at most so many failures: after them a crash waits no longer than they did. */
const storageFailuresMax = 3
/** A mesh that ran for this long resets the restart delays, milliseconds. */
const soundAfterMs = 60_000

const storageProblems: readonly (string | null)[] = ['disk-full', 'storage-failing', 'too-many-files']

/** What a supervisor does after its mesh has ended; `failures` counts failed starts and crashes in a row. Pure. */
export type NextStep =
  | { readonly restart: false; readonly why: string }
  | { readonly restart: true; readonly delayMs: number; readonly failures: number }

export function nextStep(end: MeshEnd, failures: number): NextStep {
  if (end.code === 0) return { restart: false, why: 'the mesh was asked to end' }
  if (end.code === ownerMustActExitCode) {
    return { restart: false, why: 'a restart cannot repair the cause; the owner must change something first' }
  }
  const count = end.wasReady && end.livedMs >= soundAfterMs ? 1 : failures + 1
  const isStorage = storageProblems.includes(end.problem)
  const most = isStorage ? storageDelayMs : longestDelayMs
  return {
    restart: true,
    delayMs: backoffMs({ firstMs: firstDelayMs, maxMs: most }, count),
    failures: isStorage ? Math.min(count, storageFailuresMax) : count,
  }
}

/** Describes an end for people. Pure. */
export function endWords({ code, signal, problem }: Pick<MeshEnd, 'code' | 'signal' | 'problem'>): string {
  const how = signal === null ? `exit code ${code}` : `killed by ${signal}`
  return problem === null ? how : `${how}, ${problem}`
}
