import { existsSync } from 'node:fs'
import { accessTokenPath } from '@flotilla/protocol/hosted'
import * as z from 'zod/mini'
import type { Environment } from '../environment.ts'
import { askMeshProgram } from './ask-mesh-program.ts'

const answerSchema = z.looseObject({ session: z.nullable(z.string()) })
const answerMaxMs = 30_000

/**
 * The session cookie that this command line sends to a mesh: the owner's own from FLOTILLA_SESSION, else, on a hosted
 * machine, one that the mesh program signs for a user who may read the access token. Undefined if none is needed.
 */
export async function sessionFor(
  options: { readonly home: string; readonly elsewhere: boolean },
  environment: Environment,
  signal: AbortSignal,
): Promise<string | undefined> {
  // The user of a personal token has only the rights of that person.
  if (environment.personToken !== undefined) return undefined
  if (environment.sessionCookie !== undefined) return environment.sessionCookie
  if (options.elsewhere || !existsSync(accessTokenPath)) return undefined
  const answer = await askMeshProgram({
    verb: 'session',
    home: options.home,
    environment: environment.childEnvironment({}),
    signal,
    timeoutMs: answerMaxMs,
  })
  return answerSchema.parse(answer).session ?? undefined
}
