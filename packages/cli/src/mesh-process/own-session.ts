import { existsSync } from 'node:fs'
import { accessTokenPath } from '@flotilla/protocol/hosted'
import * as z from 'zod/mini'
import type { Environment } from '../environment.ts'
import { askMeshProgram } from './ask-mesh-program.ts'

const answerSchema = z.looseObject({ session: z.nullable(z.string()) })
const answerMaxMs = 30_000

/**
 * The cookie that this command line shows to a mesh: the owner's own from FLOTILLA_SESSION, else, on a hosted machine,
 * one that the mesh program signs for whoever may read the access token. Undefined where none is wanted.
 */
export async function sessionFor(
  asked: { readonly home: string; readonly elsewhere: boolean },
  environment: Environment,
  signal: AbortSignal,
): Promise<string | undefined> {
  // Whoever has a token of their own is that person alone.
  if (environment.personToken !== undefined) return undefined
  if (environment.sessionCookie !== undefined) return environment.sessionCookie
  if (asked.elsewhere || !existsSync(accessTokenPath)) return undefined
  const answer = await askMeshProgram({
    verb: 'session',
    home: asked.home,
    environment: environment.childEnvironment({}),
    signal,
    timeoutMs: answerMaxMs,
  })
  return answerSchema.parse(answer).session ?? undefined
}
