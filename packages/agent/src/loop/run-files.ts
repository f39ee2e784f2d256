import { promises, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { TaskResult } from '@flotilla/protocol/agent-api'
import { stateFolder } from '../door-token.ts'
import { readJsonFile, removeFile } from '../files/atomic-file.ts'
import { forgetOldest } from '../files/forget-oldest.ts'
import { isDiskFull, writeState } from '../files/state-file.ts'
import type { LoopState } from './loop-state.ts'

/** Number of unfinished runs that are remembered; an older one starts from the beginning when it is sent again. */
const checkpointsMax = 20

/** One file per unfinished run, so that a run resumes at its checkpoint even after other runs were executed. */
export interface Checkpoints {
  /** The promise resolves when the state is synced to disk. */
  save(state: LoopState): Promise<void>
  /** Resolves to the stored state, or to null when the file is missing or malformed. */
  load(runId: string): Promise<LoopState | null>
  remove(runId: string): Promise<void>
  any(): Promise<boolean>
}

export function createCheckpoints(dataDirectory: string): Checkpoints {
  const folder = join(dataDirectory, stateFolder, 'checkpoints')
  const fileOf = (runId: string): string => join(folder, `${runId}.json`)
  const names = async (): Promise<string[]> =>
    (await promises.readdir(folder).catch(() => [])).filter((name) => name.endsWith('.json'))
  const known = new Set<string>()

  return {
    save: async (state) => {
      if (!known.has(state.runId)) {
        known.add(state.runId)
        await forgetOldest(folder, await names(), checkpointsMax - 1)
      }
      await writeState(dataDirectory, fileOf(state.runId), JSON.stringify(state))
    },
    load: async (runId) => {
      const value = await readJsonFile(fileOf(runId))
      if (value === null || value === undefined) return null
      const { readLoopState } = await import('./read-loop-state.ts')
      const state = readLoopState(value)
      return state?.runId === runId ? state : null
    },
    remove: async (runId) => {
      known.delete(runId)
      await removeFile(fileOf(runId))
    },
    any: async () => folderHasEntries(folder),
  }
}

/** Reads synchronously: the promises of the file system would cost the first status request a millisecond. */
function folderHasEntries(folder: string): boolean {
  try {
    return readdirSync(folder).length > 0
  } catch {
    return false
  }
}

const outcomesMax = 20

export interface KeptOutcome {
  /** Fingerprint of the run's input. */
  readonly inputHash: string
  /** The run's last step, so that a later attempt of the same run never reuses an idempotency key. */
  readonly lastStep: number
  readonly result: TaskResult
}

/** The outcomes of the last runs, on disk: readable until the mesh has recorded them, also after restarts. */
export interface Outcomes {
  save(outcome: KeptOutcome): Promise<void>
  find(runId: string): Promise<KeptOutcome | null>
}

export function createOutcomes(dataDirectory: string): Outcomes {
  const folder = join(dataDirectory, stateFolder, 'outcomes')
  const recent = new Map<string, KeptOutcome>()

  return {
    save: async (outcome) => {
      const { run_id: runId } = outcome.result
      recent.delete(runId)
      recent.set(runId, outcome)
      for (const oldest of [...recent.keys()].slice(0, -outcomesMax)) recent.delete(oldest)
      const names = await promises.readdir(folder).catch(() => [])
      await forgetOldest(folder, names, outcomesMax - 1)
      await writeState(dataDirectory, join(folder, `${runId}.json`), JSON.stringify(outcome))
    },
    find: async (runId) =>
      recent.get(runId) ?? readOutcome(runId, await readJsonFile(join(folder, `${runId}.json`))),
  }
}

/** Writes the outcome and deletes the checkpoint, which is obsolete then. Rejects where neither can be written. */
export async function keepOutcome(
  { outcomes, checkpoints }: { readonly outcomes: Outcomes; readonly checkpoints: Checkpoints },
  runId: string,
  outcome: KeptOutcome,
): Promise<void> {
  await outcomes.save(outcome).catch(async (error: unknown) => {
    if (!isDiskFull(error)) throw error
    await checkpoints.remove(runId)
    await outcomes.save(outcome)
  })
  await checkpoints.remove(runId)
}

async function readOutcome(runId: string, value: unknown): Promise<KeptOutcome | null> {
  if (typeof value !== 'object' || value === null) return null
  const { taskResultSchema } = await import('@flotilla/protocol/agent-api')
  const parsed = taskResultSchema.safeParse('result' in value ? value.result : null)
  if (!parsed.success || parsed.data.run_id !== runId) return null
  const inputHash = 'inputHash' in value ? String(value.inputHash) : ''
  const lastStep = 'lastStep' in value && typeof value.lastStep === 'number' ? value.lastStep : 0
  return { inputHash, lastStep, result: parsed.data }
}
