import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import { setTimeout } from 'node:timers/promises'
import * as z from 'zod'
import type { Engine } from '../engine/connect-engine.ts'
import { isStatus } from '../image/engine-images.ts'
import { reasonOf, SandboxError } from '../sandbox-error.ts'
import type { SandboxNetwork } from '../sandbox-runtime.ts'
import { applyRules, type RuleWorker } from './apply-rules.ts'
import { freeSubnet, gatewayOf, ipv4Range, type Ipv4Range } from './free-subnet.ts'
import { anchorName, holdBridge } from './hold-bridge.ts'
import type { PrivateNetwork } from './hold-bridge.ts'
import { applyScript, removeScript } from './agent-firewall.ts'

/** Maximum attempts to create the network: another home may take the free subnet before the creation. */
const createAttempts = 5

/** How often, and how many milliseconds apart, the mesh retries to remove a network that the engine calls in use. */
const networkChecks = 40
const networkCheckMs = 250

const networkSchema = z.looseObject({
  Name: z.string().nullish(),
  Internal: z.boolean().nullish(),
  Labels: z.record(z.string(), z.string()).nullish(),
  IPAM: z.looseObject({
    Config: z.array(z.looseObject({ Subnet: z.string().nullish(), Gateway: z.string().nullish() })).nullish(),
  }),
})

/** Which containers are on a network of the home: its agents, or their browsers. */
export type NetworkOf = 'agents' | 'browsers'

/** Returns the names of the home's networks, which never change and are short enough for an interface. */
export function networkNames(
  homeTag: string,
  of: NetworkOf = 'agents',
): { readonly name: string; readonly bridge: string } {
  return of === 'agents'
    ? { name: `flotilla-${homeTag}`, bridge: `flt-${homeTag}` }
    : { name: `flotilla-${homeTag}-browsers`, bridge: `flb-${homeTag}` }
}

/**
 * Creates the home's internal network with its firewall rules. Idempotent: an existing network is kept, the
 * rules are set again. Rejects with `SandboxError` `network-unusable`, `no-free-subnet` or
 * `network-rules-failed`.
 */
export async function ensurePrivateNetwork(
  worker: RuleWorker,
  options: {
    readonly of?: NetworkOf
    readonly meshPorts: readonly number[]
    /** True if the engine removes a bridge without containers, so that the mesh must keep it up. */
    readonly holdsBridge?: boolean
    readonly signal?: AbortSignal | undefined
  },
): Promise<PrivateNetwork> {
  const { name, bridge } = networkNames(worker.homeTag, options.of)
  const range = (await findNetwork(worker.engine, name)) ?? (await createNetwork(worker, { name, bridge }))
  const network = { name, bridge, ...range }
  if (options.holdsBridge)
    await holdBridge(worker.engine, { network, image: worker.image, homeTag: worker.homeTag })
  await applyRules(
    worker,
    applyScript({ bridge, gateway: network.gateway, meshPorts: options.meshPorts }),
    options.signal,
  )
  return network
}

/** Removes the network and its rules, for `reset` and tests, once its containers are removed. Idempotent. */
export async function removePrivateNetwork(worker: RuleWorker, of: NetworkOf = 'agents'): Promise<void> {
  const { name, bridge } = networkNames(worker.homeTag, of)
  await applyRules(worker, removeScript(bridge))
  await worker.engine.docker
    .getContainer(anchorName(name))
    .remove({ force: true })
    .catch((error: unknown) => {
      if (!isStatus(error, 404)) throw error
    })
  await removeNetwork(worker.engine, name)
}

/**
 * Removes a network. A busy engine refuses this for a short time after it removed the network's last container, so
 * the mesh retries. Containers that are still connected after the last attempt are not stopped; the engine's error is
 * then thrown.
 */
async function removeNetwork(engine: Engine, name: string, checksLeft = networkChecks): Promise<void> {
  try {
    await engine.docker.getNetwork(name).remove()
  } catch (error) {
    if (isStatus(error, 404)) return
    if (!isStatus(error, 403) || checksLeft <= 1) throw error
    await setTimeout(networkCheckMs)
    await removeNetwork(engine, name, checksLeft - 1)
  }
}

async function findNetwork(
  engine: Engine,
  name: string,
): Promise<{ subnet: string; gateway: string } | null> {
  const found: unknown = await engine.docker
    .getNetwork(name)
    .inspect()
    .catch((error: unknown) => {
      if (isStatus(error, 404)) return null
      throw error
    })
  if (found === null) return null
  const network = networkSchema.parse(found)
  const subnet = network.IPAM.Config?.find((entry) => entry.Subnet && !entry.Subnet.includes(':'))?.Subnet
  if (!network.Internal || !subnet) {
    throw new SandboxError(
      'network-unusable',
      `The network ${name} exists but is not internal.\nRepair: docker network rm ${name}, then start again.`,
    )
  }
  return { subnet, gateway: gatewayOf(subnet) }
}

async function createNetwork(
  worker: RuleWorker,
  names: { readonly name: string; readonly bridge: string },
): Promise<{ subnet: string; gateway: string }> {
  const refused: Ipv4Range[] = []
  let reason = ''
  for (let attempt = 0; attempt < createAttempts; attempt += 1) {
    const subnet = freeSubnet(worker.homeTag, [...(await usedRanges(worker.engine)), ...refused])
    if (subnet === null) break
    const gateway = gatewayOf(subnet)
    try {
      await worker.engine.docker.createNetwork({
        Name: names.name,
        Driver: 'bridge',
        Internal: true,
        EnableIPv6: false,
        CheckDuplicate: true,
        IPAM: { Driver: 'default', Config: [{ Subnet: subnet, Gateway: gateway }] },
        Options: {
          'com.docker.network.bridge.name': names.bridge,
          'com.docker.network.bridge.enable_icc': 'false',
          'com.docker.network.bridge.enable_ip_masquerade': 'false',
        },
        Labels: { 'flotilla.home': worker.homeTag, 'flotilla.role': 'network' },
      })
      return { subnet, gateway }
    } catch (error) {
      reason = reasonOf(error)
      const rival = await findNetwork(worker.engine, names.name)
      if (rival) return rival
      refused.push(ipv4Range(subnet))
    }
  }
  throw new SandboxError(
    'no-free-subnet',
    `The agents' network could not be created: ${reason || 'no free range in 10.64.0.0/10'}.\nRepair: remove unused networks (flotilla prune --dry-run lists those of missing homes, docker network prune removes others), then start again.`,
  )
}

/** Returns every subnet of the engine, IPv4 and IPv6; `own` marks the subnets of the home. */
export async function engineNetworks(engine: Engine, homeTag: string): Promise<readonly SandboxNetwork[]> {
  const own = [networkNames(homeTag).name, networkNames(homeTag, 'browsers').name]
  return (await listSubnets(engine)).flatMap(({ name, subnet }) => {
    const [address = '', bits] = subnet.split('/')
    const family = isIP(address)
    return family === 0
      ? []
      : [{ address, prefix: Number(bits ?? (family === 4 ? 32 : 128)), own: own.includes(name) }]
  })
}

async function listSubnets(engine: Engine): Promise<readonly { name: string; subnet: string }[]> {
  const networks = z.array(networkSchema).parse(await engine.docker.listNetworks())
  return networks.flatMap(({ Name, IPAM }) =>
    (IPAM.Config ?? []).flatMap(({ Subnet }) => (Subnet ? [{ name: Name ?? '', subnet: Subnet }] : [])),
  )
}

/** Returns the ranges that the engine, the host's interfaces and the host's routes already use. */
async function usedRanges(engine: Engine): Promise<readonly Ipv4Range[]> {
  const ofEngine = (await listSubnets(engine)).map(({ subnet }) => subnet)
  const ofHost = Object.values(networkInterfaces())
    .flatMap((entries) => entries ?? [])
    .flatMap((entry) => entry.cidr ?? [])
  const cidrs = [...ofEngine, ...ofHost].filter((cidr) => !cidr.includes(':'))
  const routes = await readFile('/proc/net/route', 'utf8').catch(() => '')
  return [...cidrs.map(ipv4Range), ...routeRanges(routes)]
}

/** Returns the destinations of the kernel's routing table, without the default route. Pure. */
export function routeRanges(table: string): readonly Ipv4Range[] {
  return table
    .split('\n')
    .slice(1)
    .flatMap((line) => {
      const [, destination, , , , , , mask] = line.split(/\s+/)
      if (!destination || !mask || mask === '00000000') return []
      const first = littleEndian(destination)
      return [{ first, last: first + (2 ** 32 - 1 - littleEndian(mask)) }]
    })
}

function littleEndian(hex: string): number {
  return [6, 4, 2, 0].reduce((number, at) => number * 256 + Number.parseInt(hex.slice(at, at + 2), 16), 0)
}
