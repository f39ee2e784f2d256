import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { DatabaseSync } from 'node:sqlite'
import { controlEndpoints } from '@flotilla/protocol/control-api'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { headers } from '@flotilla/protocol/headers'
import type { PermissionRecord } from '@flotilla/protocol/permission-record'
import { expect } from 'vitest'
import { isUnsteady, longerWait, openBeat, waitWords } from './other-waits.ts'
import { agentAtWork, longWork } from './agent-at-work.ts'
import type { AgentAtWork } from './agent-at-work.ts'
import { editPermissions } from './edit-permissions.ts'
import { eventually } from './eventually.ts'
import { repositoryRoot, startMesh } from './mesh-process.ts'
import type { MeshProcess } from './mesh-process.ts'
import { processorUse, usedByOthers } from './processor-use.ts'
import { processorSlowness } from './processor-slowness.ts'

/**
 * What waits for the loop waits as long as its thread works in one stretch. Stretches are measured in time on the
 * processor, so that a busy machine judges nothing, and the limit is longer on a slower processor.
 */
const stretchMaxMs = 100
/**
 * The maximum share of the mesh's work in a flood that may be in stretches above the limit: the 99th percentile, and
 * a garbage collection.
 */
const longPartMax = 0.05
/** How much longer others may wait in a flood than around it, at the 99th percentile, in milliseconds. */
const longerMaxMs = 100
/** Above this difference of waits without a flood, other programs disturbed them, in milliseconds. */
const steadyMs = 50
/** Above this number of processors that other programs used, a flood that was too long says nothing. */
const usedByOthersMax = 0.3
/** How often a flood is repeated at most, if other programs disturbed it and if not. */
const floodsMax = 5
const undisturbedMax = 3
/** Calls of others before a flood, and the least number in it. */
const quietBeats = 40
const beatsMin = 5
const callsOfFlood = 48
const callsAtOnce = 16
/** In the place of a status, for an answer that broke off. */
export const cutOff = 0

/** Calls of one agent through one entrance. */
export interface Flood {
  readonly what: string
  readonly atOnce?: number
  readonly calls?: number
  /** It uses up its share of the loop on the way, and is refused then. */
  readonly isEnded?: boolean
  /** True if the mesh ends an answer that it has begun. */
  readonly isCutOff?: boolean
  call(by: AgentAtWork): Promise<{ readonly status: number }>
}

export interface Flooding {
  readonly longPart: number
  readonly figures: string
  /** How much longer others waited in the flood than around it, in milliseconds on a processor of usual speed. */
  readonly longerMs: number
  /** Whether other programs took so much of the processors that long waits and stretches say nothing. */
  readonly isDisturbed: boolean
}

export interface FloodedMesh {
  readonly mesh: MeshProcess
  /** An agent at work that has all of its share of the loop. */
  aFlooder(id: string, may?: Partial<PermissionRecord>, mcpServer?: string): Promise<AgentAtWork>
  /**
   * Floods while a second agent and a person call in a steady beat, and returns what was too long: their waits or the
   * mesh's work without a break; null if nothing was. Stretches are measured on the processor. Waits are
   * compared with those directly before and behind the flood, and other programs can only make them longer, so one good
   * flood is enough:
   *
   * - A flood is repeated after the first: work after the start of a mesh with many rows, or a collection of their
   *   garbage, does not occur again; a slow call does.
   * - A flood that other programs disturbed says nothing and is repeated more often. If all were, waits are not judged.
   */
  judge(by: AgentAtWork, flood: Flood): Promise<string | null>
  close(): Promise<void>
}

const sum = (of: readonly number[]): number => of.reduce((all, one) => all + one, 0)

/** A mesh that measures its stretches, with rows that `writeRows` wrote into its database before it was started. */
export async function startFloodedMesh(options: {
  readonly settings: Readonly<Record<string, unknown>>
  readonly writeRows?: (database: DatabaseSync, home: string) => void
}): Promise<FloodedMesh> {
  const folder = mkdtempSync(join(tmpdir(), 'flotilla-stretches-'))
  const mesh = await startMesh({
    cassettes: { works: longWork },
    settings: options.settings,
    environment: {
      NODE_OPTIONS: `--import ${join(repositoryRoot, 'tests', 'support', 'loop-stretches.mjs')}`,
      FLOTILLA_TEST_STRETCHES: join(folder, 'stretches.json'),
    },
  })
  await mesh.createWorker('second')
  if (options.writeRows !== undefined) {
    await mesh.terminate()
    const database = new DatabaseSync(join(mesh.home, 'data', 'mesh.db'))
    try {
      database.exec('BEGIN')
      options.writeRows(database, mesh.home)
      database.exec('COMMIT')
    } finally {
      database.close()
    }
    await mesh.restart()
  }
  const second = await agentAtWork(mesh, 'second')

  /**
   * Returns the processor time between consecutive rounds of the mesh's event loop since the previous call, in
   * milliseconds.
   */
  async function stretches(): Promise<readonly number[]> {
    const path = join(folder, 'stretches.json')
    rmSync(path, { force: true })
    process.kill(mesh.pid, 'SIGUSR2')
    return eventually('the mesh has written its stretches', async () => {
      try {
        return JSON.parse(readFileSync(path, 'utf8')) as number[]
      } catch {
        return null
      }
    })
  }

  const beat = openBeat({
    agent: {
      url: `${second.api}/mesh/blackboard?prefix=none`,
      headers: {
        authorization: `Bearer ${second.token}`,
        [headers.runId]: second.run.id,
        [headers.runFence]: String(second.run.fence),
      },
    },
    person: { url: `${mesh.url}${meshHumanEndpoints.status.path}`, headers: {} },
  })

  async function statusesOf(by: AgentAtWork, { call, atOnce = callsAtOnce, calls = callsOfFlood }: Flood) {
    const answers: number[] = []
    let left = calls
    const one = async (): Promise<void> => {
      while (left-- > 0) {
        const status = await call(by).then(
          (reply) => reply.status,
          () => cutOff,
        )
        answers.push(status)
      }
    }
    await Promise.all(Array.from({ length: atOnce }, one))
    return answers
  }

  const flooded: Omit<FloodedMesh, 'judge'> & { flood(by: AgentAtWork, flood: Flood): Promise<Flooding> } = {
    mesh,
    aFlooder: async (id, may = {}, mcpServer) => {
      await mesh.createWorker(id)
      await editPermissions(mesh, id, { allowed_apis: ['http', 'llm'], ...may })
      if (mcpServer !== undefined) {
        const value = { set: { wiki: { url: mcpServer } }, remove: [] }
        const edited = await mesh.call(controlEndpoints.agentEdit, {
          params: { id },
          body: { field: 'mcpServers', value, reason: '' },
        })
        expect(edited.status, edited.text).toBe(200)
      }
      return agentAtWork(mesh, id)
    },
    flood: async (by, flood) => {
      const slownessBefore = processorSlowness()
      const before = await beat.during((beats) => beats >= quietBeats)
      await stretches()
      const usedBefore = processorUse()
      const flooding = statusesOf(by, flood)
      let isOver = false
      const answering = flooding.finally(() => (isOver = true))
      const during = await beat.during((beats) => isOver && beats >= beatsMin)
      const answers = await answering
      const all = await stretches()
      const others = usedByOthers(usedBefore, processorUse())
      const waits = { before, during, behind: await beat.during((beats) => beats >= quietBeats) }
      const slowness = Math.max(1, slownessBefore, processorSlowness())
      const limitMs = stretchMaxMs * slowness
      // A flood that was refused at the gate would show nothing.
      const refused = [
        401,
        403,
        ...(flood.isCutOff === true ? [] : [cutOff]),
        ...(flood.isEnded === true ? [] : [429]),
      ]
      expect(answers.filter((status) => !refused.includes(status)).length, answers.join(' ')).toBeGreaterThan(
        0,
      )
      const long = all.filter((ms) => ms > limitMs)
      const isDisturbed = others > usedByOthersMax || isUnsteady(waits, steadyMs * slowness)
      const words = `${waitWords(waits)}, others using ${others.toFixed(2)} processors${isDisturbed ? ', disturbed by other programs' : ''}`
      process.stdout.write(`${flood.what}: ${words}\n`)
      const figures = `${Math.max(...all)} ms at most, of ${sum(all)}, where ${Math.round(limitMs)} are allowed; ${words}: ${answers.join(' ')}`
      return { longPart: sum(long) / sum(all), figures, longerMs: longerWait(waits) / slowness, isDisturbed }
    },
    close: async () => {
      beat.close()
      await mesh.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
  return {
    ...flooded,
    judge: async (by, flood) => {
      const floods: Flooding[] = []
      for (;;) {
        const last = await flooded.flood(by, flood)
        floods.push(last)
        const undisturbed = floods.filter(({ isDisturbed }) => !isDisturbed)
        const isGood = last.longPart < longPartMax && last.longerMs <= longerMaxMs
        const mayRepeat =
          flood.isEnded !== true && floods.length < floodsMax && undisturbed.length < undisturbedMax
        if (!isGood && mayRepeat) continue
        const all = floods.map(({ figures }) => figures).join('\n')
        if (last.longPart >= longPartMax) return `the mesh worked too long without a break: ${all}`
        const waits = undisturbed.map(({ longerMs }) => longerMs)
        const isLonger = waits.length > 0 && Math.min(...waits, last.longerMs) > longerMaxMs
        return isLonger ? `others waited too long: ${all}` : null
      }
    },
  }
}
