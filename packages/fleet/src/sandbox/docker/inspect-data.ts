import { findEngine } from '../engine/find-engine.ts'
import type { SocketHints } from '../engine/socket-candidates.ts'
import type { DataBound } from '../sandbox-runtime.ts'
import { findVolumePrograms } from '../volume/volume-facts.ts'
import { volumesPromised } from './try-volumes.ts'

/** Predicts for `doctor` how the data of a new agent would be limited; creates nothing. */
export async function inspectDataBound(
  hints: SocketHints,
  host: { readonly uid: number; readonly path: string },
): Promise<DataBound> {
  const { engine } = await findEngine(hints).catch(() => ({ engine: null }))
  if (engine === null) return { kind: 'meter', why: 'no container engine answers' }
  return volumesPromised(engine, host.uid, await findVolumePrograms(host.path))
}
