import { reasonOf, SandboxError } from '../sandbox-error.ts'
import { connectEngine, type Engine } from './connect-engine.ts'
import { socketCandidates, type SocketHints } from './socket-candidates.ts'

/**
 * Returns the first engine that answers, or why no socket worked. Rejects with `SandboxError` `engine-silent` if an
 * engine is there and does not answer: another engine must not take its place, because this one may have the agents'
 * containers and data.
 */
export async function findEngine(
  hints: SocketHints,
): Promise<{ readonly engine: Engine } | { readonly engine: null; readonly tried: readonly string[] }> {
  const tried: string[] = []
  for (const socketPath of socketCandidates(hints)) {
    try {
      return { engine: await connectEngine(socketPath) }
    } catch (error) {
      if (error instanceof SandboxError) throw error
      tried.push(`${socketPath}: ${reasonOf(error)}`)
    }
  }
  return { engine: null, tried }
}
