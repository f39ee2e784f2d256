import type { LookupAddress } from 'node:dns'
import { isIP } from 'node:net'
import type { LookupFunction } from 'node:net'
import { Problem } from '@flotilla/protocol/problem'
import type { Destination } from './destination.ts'
import { textOf } from './destination.ts'
import type { PrivateExceptions } from './private-exceptions.ts'

/**
 * The outbound filter: decides where a connection may go.
 * 1. The name is resolved once; all its addresses must be allowed, and the connection uses only those.
 * 2. A name that cannot be resolved is refused.
 * 3. A place that the owner opened is allowed by its exact host and port, and each use is recorded in the audit log.
 * Returns the addresses to connect to. Throws a problem that names the reason: `destination-refused` (the owner's
 * list for this agent), `port-refused`, `name-unresolved`, `address-refused`, `rate-limited`, or the signal's reason.
 */
export type CheckDestination = (
  destination: Destination,
  signal: AbortSignal,
) => Promise<readonly LookupAddress[]>

export interface CheckDestinationDeps {
  /** Resolves all addresses of a name. */
  readonly resolve: (name: string, signal: AbortSignal) => Promise<readonly LookupAddress[]>
  /** Decides by the address ranges of `public-addresses.ts`. */
  readonly isAllowed: (address: string) => boolean
  /** 80 and 443 unless configured otherwise. */
  readonly allowedPorts?: readonly number[]
  /** False for a host that the owner's list for this agent does not contain (`host-list.ts`). */
  readonly isHostAllowed?: (host: string) => boolean
  readonly exceptions?: PrivateExceptions
  /** Called for each use of an exception. */
  readonly onException?: (destination: Destination, address: string) => void
}

const webPorts: readonly number[] = [80, 443]

export function createCheckDestination(deps: CheckDestinationDeps): CheckDestination {
  return async (destination, signal) => {
    const { host, port } = destination
    if (deps.isHostAllowed?.(host) === false) {
      throw new Problem('destination-refused', {
        detail: `egress.allowed_hosts of this agent does not list ${host}`,
      })
    }
    const excepted = deps.exceptions?.covers(destination) ?? false
    const ports = deps.allowedPorts ?? webPorts
    if (!excepted && !ports.includes(port)) {
      throw new Problem('port-refused', {
        detail: `agents may not connect to port ${port}; the allowed ports are ${ports.join(', ')}`,
      })
    }
    const family = isIP(host)
    const addresses =
      family === 0 ? await resolved(deps, { host, signal }) : [{ address: host, family } as const]
    if (addresses.length === 0) throw unresolved(`the name ${host} has no address`)
    const inside = addresses.filter(({ address }) => !deps.isAllowed(address))
    // The address is not shown: otherwise agents could resolve names of private networks.
    if (!excepted && inside.length > 0) throw refused(`${host} is not a public address`)
    if (!inside.every(({ address }) => deps.exceptions?.opens(address, port))) {
      throw refused(`no setting can allow agents to connect to ${textOf(destination)}`)
    }
    if (inside[0]) deps.onException?.(destination, inside[0].address)
    return addresses
  }
}

/** Returns a DNS lookup function for connections that returns the checked addresses without any query. */
export function pinnedLookup(addresses: readonly LookupAddress[]): LookupFunction {
  return (_hostname, options, callback) => {
    const [first] = addresses
    if (options.all === true) callback(null, [...addresses])
    else callback(null, first?.address ?? '', first?.family ?? 0)
  }
}

/** Returns the addresses of a host. Rejects at once when the signal aborts, without waiting for the lookup. */
async function resolved(
  deps: Pick<CheckDestinationDeps, 'resolve'>,
  { host, signal }: { readonly host: string; readonly signal: AbortSignal },
): Promise<readonly LookupAddress[]> {
  signal.throwIfAborted()
  const gone = Promise.withResolvers<never>()
  const giveUp = () => gone.reject(signal.reason)
  signal.addEventListener('abort', giveUp, { once: true })
  try {
    return await Promise.race([deps.resolve(host, signal), gone.promise])
  } catch (error) {
    if (signal.aborted) throw signal.reason
    if (error instanceof Problem) throw error
    throw unresolved(`the name ${host} cannot be resolved`, error)
  } finally {
    signal.removeEventListener('abort', giveUp)
  }
}

function refused(detail: string): Problem {
  return new Problem('address-refused', { detail })
}

function unresolved(detail: string, cause?: unknown): Problem {
  return new Problem('name-unresolved', { detail, cause })
}
