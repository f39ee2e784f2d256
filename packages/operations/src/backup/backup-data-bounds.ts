import type { TarBounds } from './filter-tar.ts'

const gb = 1024 ** 3

/** The maximum number of one agent's files and folders in a backup; a count of its data ends there too. */
const agentEntriesMax = 2_000_000
/** The maximum when a backup is read: earlier releases put more entries of one agent into a backup. */
const agentEntriesReadMax = 5_000_000
/** Bytes read beyond an agent's limit, to find entries after a large file that is skipped. */
const readPastBytes = gb
/** Limits for all agents of a home together. */
const fleetEntriesMax = 200_000_000
/** The maximum size of the data of all agents in one backup, in bytes. */
const fleetBytesMax = 16 * 1024 * gb

/**
 * The limits for one agent's data. An equal share of the fleet's limits stays reserved for each of the agents that
 * `follow`, so that no agent uses up the share of another one; what earlier agents did not use is available. Pure.
 */
export function boundsOfAgent(
  dataLimitBytes: number,
  fleet: {
    readonly agents: number
    readonly follow: number
    readonly entries: number
    readonly bytes: number
  },
): TarBounds {
  const available = (max: number, used: number): number =>
    max - used - fleet.follow * Math.floor(max / fleet.agents)
  const entriesMax = Math.min(agentEntriesMax, available(fleetEntriesMax, fleet.entries))
  const shareBytes = available(fleetBytesMax, fleet.bytes)
  const bytesMax = Math.min(dataLimitBytes, shareBytes)
  const bytesBy = shareBytes < dataLimitBytes ? shareWords : 'its limit; raise data_limit_mb to keep it'
  return { entriesMax, bytesMax, bytesBy, readMaxBytes: 2 * bytesMax + readPastBytes }
}

const shareWords = `its share of the ${fleetBytesMax / gb} GB that one backup holds of all agents`

/** Bounds for reading a backup apply to the whole fleet, because the agents' former limits are unknown. */
export const readingBounds: TarBounds = {
  entriesMax: agentEntriesReadMax,
  bytesMax: fleetBytesMax,
  bytesBy: 'the largest size that a restore takes',
  readMaxBytes: 2 * fleetBytesMax,
}
