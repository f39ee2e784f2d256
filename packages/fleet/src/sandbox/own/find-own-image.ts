import * as z from 'zod'
import type { Engine } from '../engine/connect-engine.ts'
import { isStatus } from '../image/engine-images.ts'
import { pullImage } from '../image/pull-image.ts'
import type { ReportStep } from '../report-step.ts'
import { SandboxError } from '../sandbox-error.ts'
import { refusedImage } from './refused-image.ts'

/** The time limit for downloading an image of the owner, in milliseconds. */
const pullTimeoutMs = 15 * 60_000
/** The maximum size of an image of the owner, in bytes. */
export const ownImageMaxBytes = 10 * 1024 ** 3

const inspectSchema = z.looseObject({
  Id: z.string(),
  Os: z.string().default('linux'),
  Architecture: z.string().default(''),
  Size: z.number().default(0),
  Config: z.looseObject({ Env: z.array(z.string()).nullish() }).nullish(),
})

/** An image of the owner in the engine. */
export interface OwnImage {
  readonly id: string
  /** `NAME=value`, as the image states it. */
  readonly environment: readonly string[]
}

/** What engines call the architectures. */
const architectures = { x64: 'amd64', arm64: 'arm64' } as const

/**
 * Returns the image with this digest. The digest is that of the image in its registry, or the id that the engine has for
 * an image that was built on this machine. Pulls the image if the engine lacks it. Rejects with `SandboxError`
 * `own-image-missing` and `own-image-refused`.
 */
export async function findOwnImage(
  engine: Engine,
  reference: string,
  how: { readonly progress: ReportStep; readonly signal?: AbortSignal | undefined },
): Promise<OwnImage> {
  const found = (await heldImage(engine, reference)) ?? (await pulledImage(engine, reference, how))
  const { Id, Os, Architecture, Size, Config } = found
  const expected = architectures[engine.architecture]
  if (Os !== 'linux' || Architecture !== expected)
    throw refusedImage(reference, `is for ${Os}/${Architecture}, and this machine runs linux/${expected}`)
  if (Size > ownImageMaxBytes)
    throw refusedImage(reference, `is larger than ${ownImageMaxBytes / 1024 ** 3} GB`)
  return { id: Id, environment: Config?.Env ?? [] }
}

async function pulledImage(
  engine: Engine,
  reference: string,
  { progress, signal }: { readonly progress: ReportStep; readonly signal?: AbortSignal | undefined },
) {
  progress(`Fetching ${reference}`)
  const refusal = await pullImage(engine, reference, { timeoutMs: pullTimeoutMs, signal })
  const found = refusal === null ? await heldImage(engine, reference) : null
  if (found !== null) return found
  throw new SandboxError(
    'own-image-missing',
    `The engine has no image with the digest of ${reference}, and could not fetch it: ${refusal ?? 'the registry delivered another image'}.\nRepair: compare the digest with docker image inspect. If the registry requires a login, use docker login and docker pull on this machine, then try again.`,
  )
}

/** A name may lead to any image, so only the digest is compared. */
async function heldImage(engine: Engine, reference: string) {
  const digest = reference.slice(reference.indexOf('@') + 1)
  const byName = await inspected(engine, reference)
  if (byName !== null) return byName
  const byId = await inspected(engine, digest)
  return byId?.Id === digest ? byId : null
}

async function inspected(engine: Engine, reference: string) {
  try {
    return inspectSchema.parse(await engine.docker.getImage(reference).inspect())
  } catch (error) {
    if (isStatus(error, 404)) return null
    throw error
  }
}
