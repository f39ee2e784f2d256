import { promises } from 'node:fs'
import { join } from 'node:path'
import type { TaskResult } from '@flotilla/protocol/agent-api'
import { stateFolder } from '../door-token.ts'
import { readJsonFile } from '../files/atomic-file.ts'
import { writeState } from '../files/state-file.ts'
import { forgetOldest } from '../files/forget-oldest.ts'

const outcomesMax = 20

export interface KeptOutcome {
  /** Fingerprint of what was asked. */
  readonly inputHash: string
  /** The run's last step, so that a later life of the same run never uses an idempotency key again. */
  readonly lastStep: number
  readonly result: TaskResult
}

/** The outcomes of the last runs, on disk: readable until the mesh has settled them, over restarts too. */
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

async function readOutcome(runId: string, value: unknown): Promise<KeptOutcome | null> {
  if (typeof value !== 'object' || value === null) return null
  const { taskResultSchema } = await import('@flotilla/protocol/agent-api')
  const parsed = taskResultSchema.safeParse('result' in value ? value.result : null)
  if (!parsed.success || parsed.data.run_id !== runId) return null
  const inputHash = 'inputHash' in value ? String(value.inputHash) : ''
  const lastStep = 'lastStep' in value && typeof value.lastStep === 'number' ? value.lastStep : 0
  return { inputHash, lastStep, result: parsed.data }
}
