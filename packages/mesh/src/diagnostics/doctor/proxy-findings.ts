import { failure, ok, warning } from './finding.ts'
import type { DoctorFinding } from './finding.ts'

/** A configured proxy and the result of connecting to it. */
export interface TriedProxy {
  /** The name of the environment variable. */
  readonly name: string
  /** The address without user name and password. */
  readonly shown: string
  /** Null if it answered. */
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
  readonly certificates: CertificatesKnown
}): readonly DoctorFinding[] {
  const { proxies, direct, faults, certificates } = known
  const exempt = ['loopback', 'the networks of agents', ...direct].join(', ')
  const tried = proxies.map(({ name, shown, fault }) =>
    fault === null
      ? ok('proxy', `${name}: ${shown} answers; connected to directly are ${exempt}, and what agents ask`)
      : failure(
          'proxy',
          `${name}: ${fault}`,
          `Start that proxy, mend ${name} (in the environment of the mesh or .env of the home), or name hosts that need none in NO_PROXY.`,
        ),
  )
  return [
    ...(tried.length === 0 ? [ok('proxy', 'no proxy is set: the mesh connects directly')] : tried),
    ...faults.map((words) =>
      warning('proxy', words, 'Name a proxy that speaks http or https, as http://HOST:PORT.'),
    ),
    certificateFinding(certificates),
  ]
}

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
