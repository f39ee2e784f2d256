import type { LookupAddress } from 'node:dns'
import { isIP } from 'node:net'
import type { LookupFunction } from 'node:net'
import { Problem } from '@flotilla/protocol/problem'
import type { Destination } from './destination.ts'
import { textOf } from './destination.ts'
import type { PrivateExceptions } from './private-exceptions.ts'

/**
 * THE outbound filter: where may a connection go?
 *
 * 1. The name is resolved once; every address it has must be allowed, and the connection goes to those alone.
 * 2. What cannot be resolved is refused.
 * 3. A place that the owner opened is let through by its exact host and port, and the owner's journal says so.
 *
 * Gives the addresses to connect to. Throws a Problem that says what was wrong with it: `destination-refused` (the
 * owner's list for this agent), `port-refused`, `name-unresolved`, `address-refused`; or `rate-limited`, or the signal's
 * reason.
 */
export type CheckDestination = (
  destination: Destination,
  signal: AbortSignal,
) => Promise<readonly LookupAddress[]>

export interface CheckDestinationDeps {
  /** All addresses of a name. */
  readonly resolve: (name: string, signal: AbortSignal) => Promise<readonly LookupAddress[]>
  readonly isAllowed: (address: string) => boolean
  /** 80 and 443 unless the owner says more. */
  readonly allowedPorts?: readonly number[]
  /** False for a host that the owner's list for this agent does not name. */
  readonly isHostAllowed?: (host: string) => boolean
  readonly exceptions?: PrivateExceptions
  /** Hears of each use of an exception. */
  readonly onException?: (destination: Destination, address: string) => void
}

const webPorts: readonly number[] = [80, 443]

export function createCheckDestination(deps: CheckDestinationDeps): CheckDestination {
  return async (destination, signal) => {
    const { host, port } = destination
    if (deps.isHostAllowed?.(host) === false) {
      throw new Problem('destination-refused', { detail: `the owner's list for this agent lacks ${host}` })
    }
    const excepted = deps.exceptions?.covers(destination) ?? false
    const ports = deps.allowedPorts ?? webPorts
    if (!excepted && !ports.includes(port)) {
      throw new Problem('port-refused', {
        detail: `port ${port} is refused; allowed are ${ports.join(', ')}`,
      })
    }
    const family = isIP(host)
    const addresses =
      family === 0 ? await resolved(deps, { host, signal }) : [{ address: host, family } as const]
    if (addresses.length === 0) throw unresolved(`the name ${host} has no address`)
    const inside = addresses.filter(({ address }) => !deps.isAllowed(address))
    // The address itself is not told: a name in here would then answer questions about networks in there.
    if (!excepted && inside.length > 0) throw refused(`${host} is not a public address`)
    if (!inside.every(({ address }) => deps.exceptions?.opens(address, port))) {
      throw refused(`${textOf(destination)} cannot be opened, not even by the owner`)
    }
    if (inside[0]) deps.onException?.(destination, inside[0].address)
    return addresses
  }
}

/** A connection that asks for the name's address is given those that were checked, and nobody else is asked. */
export function pinnedLookup(addresses: readonly LookupAddress[]): LookupFunction {
  return (_hostname, options, callback) => {
    const [first] = addresses
    if (options.all === true) callback(null, [...addresses])
    else callback(null, first?.address ?? '', first?.family ?? 0)
  }
}

/** A look-up that goes on too long need not be waited for. */
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
