import { cronLimits } from '@flotilla/protocol/cron-api'
import { Problem } from '@flotilla/protocol/problem'
import * as z from 'zod'
import { readJsonDocument, readTextFile, sameStamp, stampOf } from '../../config/index.ts'
import type { FileEditor, FileStamp } from '../../config/index.ts'
import { cronJobSchema } from './cron-job.ts'
import type { CronJob } from './cron-job.ts'
import { isOperatorHeartbeat, lockFault, lockedJob } from './operator-heartbeat.ts'
import type { HeartbeatLock } from './operator-heartbeat.ts'

/** Jobs of one fleet. */
const jobsMax = 10_000
/** Characters; more than that many jobs come to. */
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
 * `config/cron.json`, the truth about which jobs there are.
 *
 * 1. A file that is broken leaves the last whole set in force, and says its line and the reason; broken at start, no
 *    job is there until it is mended. A missing file has no jobs.
 * 2. Edits run one after the other on what stands on disk, and are refused while that is broken.
 * 3. A change by hand is seen by `poll`.
 * 4. A file whose operator's heartbeat is not as it was is broken like any other (1). One that a hand wrote while no
 *    mesh ran is put right by `putHeartbeatBack`, which knows no earlier one.
 */
export interface CronFile {
  jobs(): readonly CronJob[]
  broken(): string | null
  /** Writes what `change` makes of the jobs. What it throws is thrown, and nothing is written. Problem `unprocessable`. */
  edit(change: (jobs: readonly CronJob[]) => readonly CronJob[]): Promise<void>
  /** Problem `unprocessable` where what stands on the disk cannot be edited. */
  requireWhole(): Promise<void>
  /** Before the first poll: the operator's heartbeat as it has to be, where that alone is wrong; in words what was. */
  putHeartbeatBack(): Promise<string | null>
  /** Reads the file where a hand changed it; true where there is something new in it. */
  poll(): Promise<boolean>
}

export function createCronFile(deps: {
  readonly path: string
  readonly editor: FileEditor
  /** Hears once of each new reason why the file is not used. */
  readonly onBroken: (detail: string) => void
}): CronFile {
  const { path, editor } = deps
  /** Undefined before the first poll. */
  let stamp: FileStamp | null | undefined
  let jobs: readonly CronJob[] = []
  let broken: string | null = null
  let held: CronJob | null = null
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
        // What is as it was is left as a hand wrote it.
        return written.length === before.length && written.every((job, at) => job === before[at])
          ? null
          : writeJobs(written)
      })
      // The next poll reads it once more, which costs little and misses no hand that was quicker.
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
        // The stamp is taken first: a write between the two is then seen by the next poll.
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
      /** The jobs, where nothing but the operator's heartbeat is wrong. */
      readonly otherwise?: readonly CronJob[]
    }

/** A lock that knows no earlier heartbeat: one that is there has to be as every one is. */
const anyHeartbeat: HeartbeatLock = { held: null, required: false }

/** Pure. */
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

/** Pure. Problem `unprocessable` where they cannot be read. */
function wholeJobs(text: string | null, lock: HeartbeatLock): readonly CronJob[] {
  const reading = readJobs(text, lock)
  if (reading.ok) return reading.jobs
  throw new Problem('unprocessable', { detail: `${reading.detail}; mend it by hand first` })
}

/** Pure. Problem `unprocessable` where the jobs together are too many. */
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
    // The operator's heartbeat cannot be removed, so it takes no place, and none is ever wanting for it.
    const count = (ofAgent.get(job.agent) ?? 0) + (isOperatorHeartbeat(job) ? 0 : 1)
    ofAgent.set(job.agent, count)
    const messages = [
      ...(ids.has(job.id) ? [`the id ${job.id} stands twice`] : []),
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

/** What is kept to differently from what the file says, in words; empty where nothing is. Pure. */
export function correctionOf(job: CronJob): string {
  const seconds = /^every\s+([1-4])\s*s$/i.exec(job.schedule)?.[1]
  return seconds === undefined ? '' : `every ${seconds}s is kept as every 5s, the shortest interval`
}
