import type { TarBounds } from './filter-tar.ts'

const gb = 1024 ** 3

/** The maximum number of one agent's files and folders in a backup; a count of its data ends there too. */
const agentEntriesMax = 2_000_000
/** Backups of earlier releases may hold more. */
const agentEntriesReadMax = 5_000_000
/** Bytes read beyond an agent's limit, to find entries after a large file that is skipped. */
const readPastBytes = gb
/** Limits for all agents of a home together. */
const fleetEntriesMax = 20_000_000
const fleetBytesMax = 16 * 1024 * gb

/** The limits for one agent's data after the given data of others; null if nothing fits any more. Pure. */
export function boundsOfAgent(
  dataLimitBytes: number,
  before: { readonly entries: number; readonly bytes: number },
): TarBounds | null {
  const entriesMax = Math.min(agentEntriesMax, fleetEntriesMax - before.entries)
  const bytesMax = Math.min(dataLimitBytes, fleetBytesMax - before.bytes)
  if (entriesMax <= 0 || bytesMax <= 0) return null
  return { entriesMax, bytesMax, readMaxBytes: 2 * bytesMax + readPastBytes }
}

/** The reason for leaving out an agent that exceeds these. */
export const fleetBoundWords = `all agents together hold more than ${fleetEntriesMax} files or ${fleetBytesMax / gb} GB`

/** Bounds for reading a backup apply to the whole fleet, because the agents' former limits are unknown. */
export const readingBounds: TarBounds = {
  entriesMax: agentEntriesReadMax,
  bytesMax: fleetBytesMax,
  readMaxBytes: 2 * fleetBytesMax,
}
