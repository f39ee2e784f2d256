import * as z from 'zod'
import { logText } from '../engine/log-text.ts'
import type { Engine } from '../engine/connect-engine.ts'

/** How a virtual machine ended, as the launcher in its container reports it. */
export interface MachineEnd {
  readonly code: number
  /**
   * `memory`: programs in the machine ran out of memory. `killed`: QEMU crashed or was killed from outside. `broken`:
   * the machine never started.
   */
  readonly how: 'ended' | 'memory' | 'killed' | 'broken'
}

/** How many last lines of a virtual machine's error output are read to find the launcher's report. */
const linesMax = 20

/** Reads the launcher's report; null if the launcher was killed. Programs in the machine cannot forge the report. */
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
export function readEnd(output: string): MachineEnd | null {
  const last = output.trimEnd().split('\n').at(-1) ?? ''
  const [, ...words] = /^machine-ended (\S+) (\S+)$/.exec(last) ?? []
  return endSchema.safeParse(words).data ?? null
}
