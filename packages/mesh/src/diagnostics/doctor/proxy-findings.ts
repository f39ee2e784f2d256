import { failure, ok, warning } from './finding.ts'
import type { DoctorFinding } from './finding.ts'

/** One proxy that is set, and what it answered. */
export interface TriedProxy {
  /** Of the variable. */
  readonly name: string
  /** Without a user name or a password. */
  readonly shown: string
  /** Null where it answered. */
  readonly fault: string | null
}

export interface CertificatesKnown {
  /** `NODE_EXTRA_CA_CERTS`; null where it is not set. */
  readonly extraFile: string | null
  /** Why that file cannot be read; null where it can. */
  readonly extraFault: string | null
  readonly usesSystem: boolean
}

/** Through which proxies the mesh connects, whether they answer, and whose certificates it believes. Pure. */
export function proxyFindings(known: {
  readonly proxies: readonly TriedProxy[]
  readonly direct: readonly string[]
  /** One sentence per variable that has no effect. */
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
