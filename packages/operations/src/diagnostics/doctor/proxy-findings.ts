import { failure, ok, warning } from './finding.ts'
import type { DoctorFinding } from './finding.ts'

/** A configured proxy and the result of connecting to it. */
export interface TriedProxy {
  /** The name of the environment variable. */
  readonly name: string
  /** The address without user name and password. */
  readonly shown: string
  /** Why the connection to the proxy failed; null if the proxy answered. */
  readonly fault: string | null
}

export interface CertificatesKnown {
  /** `NODE_EXTRA_CA_CERTS`; null if it is not set. */
  readonly extraFile: string | null
  /** Why that file cannot be read; null if it can. */
  readonly extraFault: string | null
  readonly usesSystem: boolean
}

/**
 * Reports the proxies that the mesh connects through, whether they answer, and which certificates it trusts. Pure.
 */
export function proxyFindings(known: {
  readonly proxies: readonly TriedProxy[]
  readonly direct: readonly string[]
  /** One sentence for each variable that has no effect. */
  readonly faults: readonly string[]
  /** One sentence for each entry of NO_PROXY that has no effect. */
  readonly directFaults: readonly string[]
  readonly certificates: CertificatesKnown
  /** `egress.use_proxy` and `egress.proxy_resolves_names`. */
  readonly egress: { readonly use_proxy: boolean; readonly proxy_resolves_names: boolean }
}): readonly DoctorFinding[] {
  const { proxies, direct, faults, directFaults, certificates, egress } = known
  const exempt = ['loopback', 'the networks of agents', ...direct].join(', ')
  const tried = proxies.map(({ name, shown, fault }) =>
    fault === null
      ? ok('proxy', `${name}: the proxy ${shown} answers; the mesh connects directly to ${exempt}`)
      : failure(
          'proxy',
          `${name}: ${fault}`,
          `Start that proxy, correct ${name} (in the environment of the mesh or .env in the home), or list hosts that need no proxy in NO_PROXY.`,
        ),
  )
  return [
    ...(tried.length === 0 ? [ok('proxy', 'no proxy is set: the mesh connects directly')] : tried),
    egressFinding(egress, proxies),
    ...faults.map((fault) => warning('proxy', fault, 'Set an http or https proxy as http://HOST:PORT.')),
    ...directFaults.map((fault) =>
      warning(
        'proxy',
        fault,
        'Write a name, *.name, an address, 10.1.*, a network such as 10.0.0.0/8, or <local>; a name or an address may have a port.',
      ),
    ),
    certificateFinding(certificates),
    ...(egress.use_proxy && certificates.extraFile !== null ? [interceptedFinding] : []),
  ]
}

/** Reports how the requests, programs and browsers of agents reach the internet. */
function egressFinding(
  egress: { readonly use_proxy: boolean; readonly proxy_resolves_names: boolean },
  proxies: readonly TriedProxy[],
): DoctorFinding {
  if (!egress.use_proxy) {
    const opening = proxies.length === 0 ? '' : ' (egress.use_proxy sends them through the proxy)'
    return ok('egress-proxy', `agents' requests, programs and browsers connect directly${opening}`)
  }
  if (proxies.length === 0) {
    return warning(
      'egress-proxy',
      'egress.use_proxy is set but no proxy is configured, so agents connect directly',
      'Set HTTPS_PROXY and HTTP_PROXY in the environment of the mesh or .env of the home, or remove egress.use_proxy from config/settings.json.',
    )
  }
  const shown = [...new Set(proxies.map((proxy) => proxy.shown))].join(' and ')
  const resolution = egress.proxy_resolves_names ? 'by name' : 'by checked addresses'
  return ok('egress-proxy', `agents' requests, programs and browsers go through ${shown}, ${resolution}`)
}

/** The mesh itself opens TLS connections only for `http_request` and MCP servers of agents. */
const interceptedFinding = ok(
  'egress-certificates',
  'http_request and MCP servers use these certificate authorities; programs and browsers of agents use those that their images take from /usr/local/share/ca-certificates of this machine (*.crt)',
)

function certificateFinding({ extraFile, extraFault, usesSystem }: CertificatesKnown): DoctorFinding {
  const base = usesSystem ? "Node's list and this system's (--use-system-ca)" : "Node's list"
  if (extraFile === null) return ok('certificates', `certificate authorities: ${base}`)
  return extraFault === null
    ? ok('certificates', `certificate authorities: ${base}, and those in ${extraFile} (NODE_EXTRA_CA_CERTS)`)
    : warning(
        'certificates',
        `NODE_EXTRA_CA_CERTS names ${extraFile}, which cannot be read: ${extraFault}`,
        'Correct the path: Node ignores a missing file, and then rejects the certificate of a proxy that intercepts TLS.',
      )
}
