import * as z from 'zod'
import { logText } from '../engine/log-text.ts'
import type { Engine } from '../engine/connect-engine.ts'

/** How a machine ended, as its launcher reports it. */
export interface MachineEnd {
  readonly code: number
  /**
   * `memory`: its programs ran out of memory. `killed`: QEMU crashed or was killed from outside. `broken`: it never
   * started.
   */
  readonly how: 'ended' | 'memory' | 'killed' | 'broken'
}

const linesMax = 20

/** Reads the launcher's report; null if it was killed before. Programs in the machine cannot write to this stream. */
export async function machineEnd({ docker }: Engine, containerId: string): Promise<MachineEnd | null> {
  const raw = await docker
    .getContainer(containerId)
    .logs({ stdout: false, stderr: true, follow: false, tail: linesMax })
  return readEnd(logText(Buffer.from(raw)))
}

const endSchema = z
  .tuple([z.coerce.number().int().max(255), z.enum(['ended', 'memory', 'killed', 'broken'])])
  .transform(([code, how]): MachineEnd => ({ code, how }))

/** Parses the last line. Pure. */
export function readEnd(said: string): MachineEnd | null {
  const last = said.trimEnd().split('\n').at(-1) ?? ''
  const [, ...words] = /^machine-ended (\S+) (\S+)$/.exec(last) ?? []
  return endSchema.safeParse(words).data ?? null
}
