import * as z from 'zod/mini'
import type { CommandContext } from '../context.ts'
import { askMeshProgram } from './ask-mesh-program.ts'
import { readMeshFile } from './mesh-file.ts'

/**
 * The time limit for ending the agents of a killed mesh, in milliseconds: its lease lasts 60 s, and slow nodes take
 * 65 s to end pods.
 */
const answerMaxMs = 180_000
const answerSchema = z.looseObject({ ended: z.array(z.string()), left: z.nullable(z.string()) })

export interface LeftAgents {
  /** Agents that were still running and have been ended. */
  readonly ended: readonly string[]
  /** The command that ends the agents if the engine does not answer; null if no agent is left running. */
  readonly left: string | null
}

/**
 * Ends the agents that a crashed mesh has left running. A mesh crashed if its process has ended and its mesh file,
 * which an orderly end removes, is still in the home. Rejects with CommandFailed.
 */
export async function endLeftAgents({ place, environment, signal }: CommandContext): Promise<LeftAgents> {
  const found = await readMeshFile(place.home)
  if (found === null || found.alive) return { ended: [], left: null }
  const { runtime } = found.mesh
  return answerSchema.parse(
    await askMeshProgram({
      verb: 'stop-agents',
      home: place.home,
      extra: runtime === undefined ? [] : ['--runtime', runtime],
      environment: environment.childEnvironment({}),
      signal,
      timeoutMs: answerMaxMs,
    }),
  )
}
