import { readFile } from 'node:fs/promises'
import type { ProxyRules, Settings } from '@flotilla/foundation/config'
import { proxyFindings } from '@flotilla/operations/diagnostics'
import type { DoctorFinding } from '@flotilla/operations/diagnostics'
import { openTunnel } from '@flotilla/foundation/platform'
import type { TunnelProxy } from '@flotilla/foundation/platform'
import type { CommandContext } from './command-context.ts'

/** Time limit for a proxy's answer, milliseconds. */
const answerMaxMs = 5000
/** A host that does not exist: any answer of a proxy shows that the proxy works. */
const nowhere = { host: 'flotilla-doctor.invalid', port: 443 } as const

/** Requests a connection from each configured proxy, and reports which certificates are trusted. */
export async function triedProxies(
  { environment, env }: CommandContext,
  { egress }: Pick<Settings, 'egress'>,
): Promise<readonly DoctorFinding[]> {
  const { proxies, direct } = environment.proxies
  const tried = await Promise.all(
    distinct(proxies).map(async ({ name, proxy }) => ({
      name,
      shown: proxy.shown,
      fault: await faultOf(proxy),
    })),
  )
  const extraFile = env['NODE_EXTRA_CA_CERTS'] || null
  const flags = `${env['NODE_OPTIONS'] ?? ''} ${process.execArgv.join(' ')}`
  return proxyFindings({
    faults: environment.proxies.faults,
    directFaults: environment.proxies.directFaults,
    proxies: tried,
    direct,
    egress,
    certificates: {
      extraFile,
      extraFault: extraFile === null ? null : await unreadable(extraFile),
      usesSystem: env['NODE_USE_SYSTEM_CA'] === '1' || /--use-(?:system|openssl)-ca/.test(flags),
    },
  })
}

function distinct(proxies: ProxyRules['proxies']): ProxyRules['proxies'] {
  return proxies.filter(({ name }, index) => proxies.findIndex((one) => one.name === name) === index)
}

/** Returns why a proxy does not work, e.g. a wrong password; null if it answers, even if it rejects the host name. */
function faultOf(proxy: TunnelProxy): Promise<string | null> {
  return new Promise((resolve) => {
    openTunnel({ proxy, ...nowhere, maxMs: answerMaxMs }, (error, socket) => {
      socket?.destroy()
      resolve(error === null || (error.status !== null && error.status !== 407) ? null : error.message)
    })
  })
}

async function unreadable(path: string): Promise<string | null> {
  return readFile(path).then(
    () => null,
    (error: NodeJS.ErrnoException) => error.code ?? error.message,
  )
}
