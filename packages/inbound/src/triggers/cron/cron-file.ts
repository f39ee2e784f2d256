import { dirname } from 'node:path'
import { cronLimits } from '@flotilla/protocol/cron-api'
import { Problem } from '@flotilla/protocol/problem'
import * as z from 'zod'
import {
  createDeviceGuard,
  readJsonDocument,
  readTextFile,
  sameStamp,
  stampOf,
} from '@flotilla/foundation/config'
import type { FileEditor, FileStamp } from '@flotilla/foundation/config'
import { cronJobSchema } from './cron-job.ts'
import type { CronJob } from './cron-job.ts'
import { isOperatorHeartbeat, lockFault, lockedJob } from './operator-heartbeat.ts'
import type { HeartbeatLock } from './operator-heartbeat.ts'

/** The maximum number of jobs of a fleet. */
const jobsMax = 10_000
/** The maximum size of the file in characters; more than the maximum number of jobs needs. */
const fileMaxChars = 64_000_000

const fileSchema = z.strictObject({
  jobs: z
    .array(cronJobSchema)
    .max(jobsMax)
    .check((context) => {
      for (const { at, message } of crowded(context.value)) {
        context.issues.push({ code: 'custom', path: [at, 'id'], message, input: context.value })
      }
    }),
})

/**
 * `config/cron.json`, the source of truth for jobs.
 *
 * 1. A broken file leaves the last valid jobs in force and reports its line and the reason. If the
 * file is broken at start, there are no jobs until it is repaired. A missing file means no jobs.
 * 2. Edits are serialized, apply to the current file, and are rejected while it is broken.
 * 3. `poll` detects edits by hand.
 * 4. A file that changes the operator's heartbeat is broken in the sense of (1). A file that was
 * edited while no mesh ran is corrected by `putHeartbeatBack`, because no earlier version is known.
 */
export interface CronFile {
  jobs(): readonly CronJob[]
  broken(): string | null
  /**
   * Writes the jobs that `change` returns. Errors of `change` are rethrown, and nothing is written. Throws Problem
   * `unprocessable`.
   */
  edit(change: (jobs: readonly CronJob[]) => readonly CronJob[]): Promise<void>
  /** Throws Problem `unprocessable` if the file on disk cannot be edited. */
  requireWhole(): Promise<void>
  /**
   * Corrects the operator's heartbeat if it is the only error, before the first poll. Resolves with the error's text.
   */
  putHeartbeatBack(): Promise<string | null>
  /** Reads the file if it was changed by hand. True if the file has new, valid content. */
  poll(): Promise<boolean>
}

export function createCronFile(deps: {
  readonly path: string
  readonly editor: FileEditor
  /** Called once for each new reason why the file is not used. */
  readonly onBroken: (detail: string) => void
}): CronFile {
  const { path, editor } = deps
  /** The stamp of the file at the last poll; undefined before the first poll. */
  let stamp: FileStamp | null | undefined
  let jobs: readonly CronJob[] = []
  let broken: string | null = null
  let held: CronJob | null = null
  const requireDevice = createDeviceGuard(dirname(path))
  const lock = (): HeartbeatLock => ({ held, required: held !== null })

  function keep(whole: readonly CronJob[]): void {
    ;[jobs, broken] = [whole, null]
    held = whole.find(isOperatorHeartbeat) ?? held
  }

  function take(reading: Reading): void {
    if (reading.ok) keep(reading.jobs)
    else {
      if (reading.detail !== broken) deps.onBroken(reading.detail)
      broken = reading.detail
    }
  }

  return {
    jobs: () => jobs,
    broken: () => broken,
    async edit(change) {
      let written: readonly CronJob[] = []
      await editor.edit(path, (text) => {
        const before = wholeJobs(text, lock())
        written = change(before)
        const fault = lockFault(written, lock())
        if (fault) throw new Problem('unprocessable', { detail: fault.reason })
        // If no job changed, the file keeps its formatting.
        return written.length === before.length && written.every((job, at) => job === before[at])
          ? null
          : writeJobs(written)
      })
      // The next poll reads the file again, which is cheap and detects a concurrent edit by hand.
      keep(written)
    },
    requireWhole: async () => void wholeJobs(await readTextFile(path), lock()),
    async putHeartbeatBack() {
      let wrong: string | null = null
      await editor.edit(path, (text) => {
        const reading = readJobs(text)
        if (reading.ok || reading.otherwise === undefined) return null
        wrong = reading.detail
        return writeJobs(reading.otherwise.map((job) => (isOperatorHeartbeat(job) ? lockedJob(job) : job)))
      })
      return wrong
    },
    async poll() {
      try {
        await requireDevice()
        // The stamp is read before the file, so that the next poll detects a write in between.
        const found = await stampOf(path)
        if (stamp !== undefined && sameStamp(found, stamp)) return false
        const text = await readTextFile(path)
        stamp = found
        take(readJobs(text, lock()))
        return broken === null
      } catch (error) {
        take({ ok: false, detail: `config/cron.json cannot be read: ${String(error).slice(0, 200)}` })
        return false
      }
    },
  }
}

type Reading =
  | { readonly ok: true; readonly jobs: readonly CronJob[] }
  | {
      readonly ok: false
      readonly detail: string
      /** The jobs of the file, if only the operator's heartbeat is wrong. */
      readonly otherwise?: readonly CronJob[]
    }

/** The lock when no earlier heartbeat is known: the operator's heartbeat must have the fixed values, if it exists. */
const anyHeartbeat: HeartbeatLock = { held: null, required: false }

export function readJobs(text: string | null, lock: HeartbeatLock = anyHeartbeat): Reading {
  if (text === null) {
    const gone = lockFault([], lock)
    if (!gone) return { ok: true, jobs: [] }
    return { ok: false, detail: `config/cron.json is missing: ${gone.reason}`, otherwise: [] }
  }
  if (text.length > fileMaxChars)
    return { ok: false, detail: `config/cron.json has more than ${fileMaxChars} characters` }
  const reading = readJsonDocument(text, fileSchema)
  if (!reading.ok) return { ok: false, detail: `config/cron.json line ${reading.line}: ${reading.reason}` }
  const { value, lineOf } = reading.document
  const fault = lockFault(value.jobs, lock)
  if (!fault) return { ok: true, jobs: value.jobs }
  const line = lineOf(fault.path) ?? lineOf(fault.path.slice(0, -1)) ?? 1
  return { ok: false, detail: `config/cron.json line ${line}: ${fault.reason}`, otherwise: value.jobs }
}

/** Returns the jobs of the file. Throws Problem `unprocessable` if the file cannot be read. Pure. */
function wholeJobs(text: string | null, lock: HeartbeatLock): readonly CronJob[] {
  const reading = readJobs(text, lock)
  if (reading.ok) return reading.jobs
  throw new Problem('unprocessable', { detail: `${reading.detail}; repair it by hand first` })
}

/** Returns the text of the file. Throws Problem `unprocessable` if there are too many jobs. Pure. */
function writeJobs(jobs: readonly CronJob[]): string {
  const checked = fileSchema.safeParse({ jobs })
  if (!checked.success) {
    throw new Problem('unprocessable', {
      detail: checked.error.issues.map(({ message }) => message).join('; '),
    })
  }
  return `${JSON.stringify(checked.data, null, 2)}\n`
}

function crowded(jobs: readonly CronJob[]): { at: number; message: string }[] {
  const ids = new Set<string>()
  const ofAgent = new Map<string, number>()
  const hearts = new Set<string>()
  return jobs.flatMap((job, at) => {
    // The operator's heartbeat cannot be removed, so it does not count towards the limit.
    const count = (ofAgent.get(job.agent) ?? 0) + (isOperatorHeartbeat(job) ? 0 : 1)
    ofAgent.set(job.agent, count)
    const messages = [
      ...(ids.has(job.id) ? [`the id ${job.id} is used twice`] : []),
      ...(count === cronLimits.jobsPerAgentMax + 1 && !isOperatorHeartbeat(job)
        ? [`agent ${job.agent} has more than ${cronLimits.jobsPerAgentMax} jobs; remove one first`]
        : []),
      ...(job.heartbeat && hearts.has(job.agent) ? [`agent ${job.agent} has a heartbeat already`] : []),
    ]
    ids.add(job.id)
    if (job.heartbeat) hearts.add(job.agent)
    return messages.map((message) => ({ at, message }))
  })
}

/** Returns how the effective schedule differs from the file; empty if it does not differ. Pure. */
export function correctionOf(job: CronJob): string {
  const seconds = /^every\s+([1-4])\s*s$/i.exec(job.schedule)?.[1]
  return seconds === undefined ? '' : `every ${seconds}s counts as every 5s, the shortest interval`
}
