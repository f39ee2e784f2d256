import { isIP } from 'node:net'
import type { CheckDestinationDeps } from './check-destination.ts'
import { destinationOf, textOf } from './destination.ts'
import type { Destination } from './destination.ts'

/**
 * Returns why `check-destination` would refuse this address to agents, and what would allow it, as far as this is
 * known without a DNS lookup. Owners see these reasons when they enter an address. Pure.
 */
export function destinationDoubts(
  url: URL,
  rules: Pick<CheckDestinationDeps, 'allowedPorts' | 'isAllowed' | 'isHostAllowed' | 'exceptions'>,
): readonly string[] {
  const destination = destinationOf(url)
  if (destination === null) return [`${url.host} is not a host that agents can connect to`]
  const { host } = destination
  const unlisted =
    rules.isHostAllowed?.(host) === false
      ? [`egress.allowed_hosts of this agent does not list ${host}: add the host in config/settings.json`]
      : []
  return [...unlisted, ...placeDoubts(destination, rules)]
}

/** Reasons that apply to every agent. */
function placeDoubts(
  destination: Destination,
  rules: Pick<CheckDestinationDeps, 'allowedPorts' | 'isAllowed' | 'exceptions'>,
): readonly string[] {
  const { host, port } = destination
  const place = textOf(destination)
  const opening = `add "${place}" to egress.allowed_private in config/settings.json`
  const address = isIP(host) !== 0 ? host : isThisMachine(host) ? '127.0.0.1' : null
  const isInside = address !== null && !rules.isAllowed(address)
  if (isInside && rules.exceptions?.opens(address, port) !== true)
    return [`no setting can allow agents to connect to ${place}`]
  if (rules.exceptions?.covers(destination) === true) return []
  if (isInside) return [`${place} is not a public address, so agents may not connect to it: ${opening}`]
  if (rules.allowedPorts?.includes(port) === false)
    return [
      `agents may not connect to port ${port}: add ${port} to egress.allowed_ports in config/settings.json, or for a private host ${opening}`,
    ]
  return []
}

function isThisMachine(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost')
}
