import { findEngine } from '../engine/find-engine.ts'
import type { SocketHints } from '../engine/socket-candidates.ts'
import type { DataBound } from '../sandbox-runtime.ts'
import { findVolumePrograms } from '../volume/volume-facts.ts'
import { volumesPromised } from './try-volumes.ts'

/** What would bound the data of an agent created now; for `doctor`: nothing is tried and nothing is made. */
export async function inspectDataBound(
  hints: SocketHints,
  host: { readonly uid: number; readonly path: string },
): Promise<DataBound> {
  const { engine } = await findEngine(hints)
  if (engine === null) return { kind: 'meter', why: 'no container engine answers' }
  return volumesPromised(engine, host.uid, await findVolumePrograms(host.path))
}
