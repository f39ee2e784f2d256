import type { Clock } from '@flotilla/protocol/clock'
import type { Log } from '@flotilla/foundation/platform'
import { createAddressFilter, createRangeCheck } from './public-addresses.ts'
import type { AddressRange } from './public-addresses.ts'

/** How long a new network of the engine may stay unknown, in milliseconds. */
export const networksRefreshMs = 10_000
/**
 * How long a new address of this machine may stay unknown, in milliseconds; querying the system for each connection
 * would be too slow.
 */
export const interfacesRefreshMs = 1000

/** Networks that belong to this machine, whatever their addresses are. */
export interface ClosedNetworks {
  /** Reads the engine's networks now. Rejects if the engine does not answer. */
  refresh(): Promise<void>
  /** Refreshes until the signal aborts; if the engine does not answer, the last answer stays valid. */
  run(signal: AbortSignal): Promise<void>
  /**
   * True for a public address that does not belong to this machine. Nothing is allowed before the engine has answered
   * once.
   */
  isAllowed(address: string): boolean
  isOwnAddress(address: string): boolean
  /** True for an address on the agents' networks. */
  isFleetAddress(address: string): boolean
}

export interface ClosedNetworksDeps {
  readonly networks: () => Promise<readonly (AddressRange & { readonly own: boolean })[]>
  /** The current addresses of the machine's interfaces, which change while the mesh runs. */
  readonly interfaces: () => readonly AddressRange[]
  readonly clock: Clock
  readonly log: Log
}

interface Checks {
  readonly madeAt: number
  readonly isAllowed: (address: string) => boolean
  readonly isOwnAddress: (address: string) => boolean
}

export function createClosedNetworks(deps: ClosedNetworksDeps): ClosedNetworks {
  let known: Awaited<ReturnType<typeof deps.networks>> | null = null
  let isFleetAddress: (address: string) => boolean = () => true
  let checks: Checks | null = null

  async function refresh(): Promise<void> {
    known = await deps.networks()
    isFleetAddress = createRangeCheck(known.filter(({ own }) => own))
    checks = null
  }

  function current(): Checks {
    const now = deps.clock.now()
    if (checks === null || now - checks.madeAt >= interfacesRefreshMs || now < checks.madeAt) {
      const interfaces = deps.interfaces()
      checks = {
        madeAt: now,
        isAllowed: createAddressFilter([...(known ?? []), ...interfaces]),
        isOwnAddress: createRangeCheck(interfaces),
      }
    }
    return checks
  }

  return {
    refresh,
    run: async (signal) => {
      while (!signal.aborted) {
        await deps.clock.sleep(networksRefreshMs, signal).catch(() => {})
        if (signal.aborted) return
        await refresh().catch((error: unknown) =>
          deps.log.warn({ err: error }, 'failed to list the engine’s networks; using the previous list'),
        )
      }
    },
    isAllowed: (address) => known !== null && current().isAllowed(address),
    isOwnAddress: (address) => current().isOwnAddress(address),
    isFleetAddress: (address) => isFleetAddress(address),
  }
}
