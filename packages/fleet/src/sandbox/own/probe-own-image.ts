import type { Clock } from '@flotilla/protocol/clock'
import type { Engine } from '../engine/connect-engine.ts'
import { runOnce } from '../engine/run-once.ts'
import { guardedNode, hardenedHost, labelKeys } from '../hardening/container-options.ts'
import type { ContainerGround } from '../hardening/container-options.ts'
import { checkIsolation, probeSize } from '../isolation/check-isolation.ts'
import { reasonOf } from '../sandbox-error.ts'
import { sandboxHardening } from '../sandbox-spec.ts'
import { refusedImage } from './refused-image.ts'

/** The time limit of one program that is tried, in milliseconds. */
const tryTimeoutMs = 30_000
/** How many characters of the output of a failed program are quoted. */
const quotedMaxChars = 300

/**
 * Tries the image with the hardening of every agent: Node and a shell must start, and each wall of the isolation check
 * must hold. Rejects with `own-image-refused`.
 */
export async function probeOwnImage(
  { engine, ground }: { readonly engine: Engine; readonly ground: ContainerGround },
  of: {
    readonly reference: string
    readonly image: string
    readonly homeTag: string
    readonly meshPort: number
    readonly clock: Clock
    readonly signal: AbortSignal
  },
): Promise<void> {
  const inOwn = { ...ground, image: of.image }
  const trial = async (what: string, command: readonly string[]): Promise<void> => {
    const done = await runOnce(engine, {
      image: of.image,
      command,
      labels: { [labelKeys.home]: of.homeTag, [labelKeys.role]: 'probe' },
      host: { ...hardenedHost(inOwn, probeSize), NetworkMode: 'none' },
      user: `${sandboxHardening.uid}:${sandboxHardening.uid}`,
      timeoutMs: tryTimeoutMs,
      signal: of.signal,
    }).catch((error: unknown) => ({ code: 127, output: reasonOf(error) }))
    of.signal.throwIfAborted()
    if (done.code === 0) return
    const quoted = done.output.trim().slice(-quotedMaxChars)
    throw refusedImage(of.reference, `cannot run ${what}: ${quoted || `it ended with code ${done.code}`}`)
  }
  await trial('the Node of agents, which needs a C library such as that of Debian 12', [
    ...guardedNode,
    '--version',
  ])
  await trial('/bin/sh', ['/bin/sh', '-c', 'exit 0'])
  const walls = await checkIsolation(engine, { ...of, ground: inOwn, behind: { rung: 'container' } })
  // Whether the mesh listens says nothing about an image.
  const broken = walls.find(({ id, holds }) => !holds && id !== 'agent-door-open')
  if (broken !== undefined)
    throw refusedImage(of.reference, `does not keep the wall ${broken.id}: ${broken.detail}`)
}
