import { isLoopback, isOwnGround } from './address-ranges.ts'
import type { Destination } from './destination.ts'
import { parseHostAndPort, textOf } from './destination.ts'

/** What an owner opened on networks that are closed to agents, by exact host and port. */
export interface PrivateExceptions {
  /** True where the owner wrote this very host and port. */
  covers(destination: Destination): boolean
  /**
   * True for an address that such an entry can open. Link-local and reserved addresses, cloud metadata, the fleet's own
   * network, the mesh's listeners and the engine are opened by nothing.
   */
  opens(address: string, port: number): boolean
}

export interface PrivateExceptionsDeps {
  /** `egress.allowed_private` as it is now. */
  readonly entries: () => readonly string[]
  /** Addresses of this machine, loopback aside. */
  readonly isOwnAddress: (address: string) => boolean
  /** The network that agents live on. */
  readonly isFleetAddress: (address: string) => boolean
  /** Ports of this machine that are never opened: the mesh's listeners, the engine's. */
  readonly guardedPorts: () => readonly number[]
}

/** The engine's usual ports, where it listens on TCP at all. */
export const enginePorts: readonly number[] = [2375, 2376, 2377]

export function createPrivateExceptions(deps: PrivateExceptionsDeps): PrivateExceptions {
  return {
    covers: (destination) =>
      deps.entries().some((entry) => {
        const opened = parseHostAndPort(entry)
        return opened !== null && textOf(opened) === textOf(destination)
      }),
    opens: (address, port) => {
      if (!isOwnGround(address) || deps.isFleetAddress(address)) return false
      const isHere = isLoopback(address) || deps.isOwnAddress(address)
      return !isHere || ![...enginePorts, ...deps.guardedPorts()].includes(port)
    },
  }
}
