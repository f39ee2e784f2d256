import type { Clock } from '@flotilla/protocol/clock'
import type { Log } from '../../platform/index.ts'
import { createAddressFilter, createRangeCheck } from './address-ranges.ts'
import type { AddressRange } from './address-ranges.ts'

/** How long a new network of the engine may stay unknown, ms. */
export const networksRefreshMs = 10_000
/** How long a new address of this machine may, ms: asking the system for each connection would cost more than it. */
export const interfacesRefreshMs = 1000

/** Networks that are this machine's own, whatever their addresses look like. */
export interface ClosedNetworks {
  /** Reads the engine's networks now. Rejects when the engine does not tell. */
  refresh(): Promise<void>
  /** Refreshes until the signal aborts; where the engine does not answer, what it said last goes on. */
  run(signal: AbortSignal): Promise<void>
  /** A public address, and none of ours. Nothing is allowed before the engine was asked once. */
  isAllowed(address: string): boolean
  isOwnAddress(address: string): boolean
  /** On the network that agents live on. */
  isFleetAddress(address: string): boolean
}

export interface ClosedNetworksDeps {
  readonly networks: () => Promise<readonly (AddressRange & { readonly own: boolean })[]>
  /** Addresses of the machine's interfaces at this moment: they come and go while the mesh runs. */
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
