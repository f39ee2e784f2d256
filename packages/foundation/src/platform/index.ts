/** Clock, random numbers, log, version, output, waiting calls and proxies of the process. */

export { boundLog, logMaxBytes } from './bound-log.ts'
export { createLog, silentLog } from './log.ts'
export type { Log } from './log.ts'
export { openTunnel, ProxyFailed, proxyFailedCode } from './open-tunnel.ts'
export type { TunnelProxy } from './open-tunnel.ts'
export { connectorThrough, httpAgentThrough } from './proxied-connections.ts'
export type { CancellableConnector } from './proxied-connections.ts'
export type { OutboundProxies } from './proxied-connections.ts'
export { useProxies } from './use-proxies.ts'
export type { LineOutput } from '@flotilla/protocol/line-output'
export { openCommandOutput, openServingOutput } from './standard-output.ts'
export { removeTree } from './remove-tree.ts'
export { createRoster } from './roster.ts'
export type { Roster } from './roster.ts'
export {
  freshBytes,
  loopCpuMs,
  randomChance,
  randomId,
  randomToken,
  steadyMs,
  systemClock,
} from './system-clock.ts'
export { productVersion } from './version.ts'
export { createWaiters } from './waiters.ts'
export type { Waiters } from './waiters.ts'
