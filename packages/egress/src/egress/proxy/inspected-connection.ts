import type { Duplex } from 'node:stream'
import type { Socket } from 'node:net'
import type { Destination } from '../policy/destination.ts'
import type { ProxyIdentity } from './proxy-gate.ts'
import type { Tunnel } from './tunnels.ts'

/** A connection of a program to a host that the owner inspects, after the checks of a tunnel. */
export interface InspectedConnection {
  readonly identity: ProxyIdentity
  readonly destination: Destination
  /** The connection of the program, which has not been answered yet. */
  readonly near: Duplex
  /** Bytes that the program sent after its CONNECT request. */
  readonly head: Buffer
  /** Counts and bounds the connection like a tunnel; its signal aborts when the connection must end. */
  readonly tunnel: Pick<Tunnel, 'measure' | 'signal' | 'keepOpen'>
  /** Aborts when the program has disconnected. */
  readonly signal: AbortSignal
  /** Connects to the checked addresses of the destination; may be called again while the connection is open. */
  dial(signal: AbortSignal): Promise<Socket>
}

/** Terminates TLS for hosts that the owner names. */
export interface Inspector {
  isInspected(host: string): boolean
  /**
   * Answers the CONNECT request and serves the connection until it is closed. Rejects with a problem if the request
   * was not answered yet.
   */
  serve(connection: InspectedConnection): Promise<void>
}
