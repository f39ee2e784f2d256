import { isLoopback, isOwnGround } from './public-addresses.ts'
import type { Destination } from './destination.ts'
import { parseHostAndPort, textOf } from './destination.ts'

/** Places on closed networks that the owner opened, by exact host and port. */
export interface PrivateExceptions {
  /** True if the owner entered exactly this host and port. */
  covers(destination: Destination): boolean
  /**
   * True for an address that an entry of the owner can open. No entry opens link-local and reserved addresses, cloud
   * metadata, the fleet's own network, the mesh's listeners and the engine.
   */
  opens(address: string, port: number): boolean
}

export interface PrivateExceptionsDeps {
  /** The current value of `egress.allowed_private`. */
  readonly entries: () => readonly string[]
  /** Addresses of this machine except loopback. */
  readonly isOwnAddress: (address: string) => boolean
  /** Addresses of the agents' networks. */
  readonly isFleetAddress: (address: string) => boolean
  /** Ports of this machine that are never opened: the listeners of the mesh and of the engine. */
  readonly guardedPorts: () => readonly number[]
}

/** The usual ports of container engines that listen on TCP. */
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
