import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fabric, type NodePlace } from './layout.ts'
import { run } from './run.ts'

const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'] as const

export interface KeyPair {
  readonly certificate: string
  readonly key: string
}

/**
 * Creates the certificate authority of one cluster and its certificates. All files are in `folder` and are deleted
 * with the cluster.
 */
export async function openAuthority(folder: string) {
  const certificate = join(folder, 'ca.crt')
  const key = join(folder, 'ca.key')
  await run('openssl', [
    'req',
    '-x509',
    ...newKey,
    '-keyout',
    key,
    '-out',
    certificate,
    '-days',
    '7',
    '-subj',
    '/CN=flotilla-test-cluster',
  ])

  async function issue(
    name: string,
    subject: { readonly user: string; readonly group?: string; readonly places?: readonly string[] },
  ): Promise<KeyPair> {
    const at = (end: string) => join(folder, `${name}.${end}`)
    const group = subject.group === undefined ? '' : `/O=${subject.group}`
    const names = [...(subject.places ?? []), 'DNS:localhost']
    await writeFile(at('ext'), `extendedKeyUsage=serverAuth,clientAuth\nsubjectAltName=${names.join(',')}\n`)
    await run('openssl', [
      'req',
      '-new',
      ...newKey,
      '-keyout',
      at('key'),
      '-out',
      at('csr'),
      '-subj',
      `${group}/CN=${subject.user}`,
    ])
    await run('openssl', [
      'x509',
      '-req',
      '-in',
      at('csr'),
      '-CA',
      certificate,
      '-CAkey',
      key,
      // A file with the last serial number would be written by several processes at once.
      '-set_serial',
      `0x${randomBytes(8).toString('hex')}`,
      '-out',
      at('crt'),
      '-days',
      '7',
      '-extfile',
      at('ext'),
    ])
    return { certificate: at('crt'), key: at('key') }
  }

  return {
    certificate,
    issue,
    apiServer: () =>
      issue('api-server', {
        user: 'kube-apiserver',
        // The API server also shows this certificate to kubelets, when it forwards logs and commands.
        group: 'system:masters',
        places: [
          `IP:${fabric.address}`,
          `IP:${fabric.apiService}`,
          'IP:127.0.0.1',
          'DNS:kubernetes.default.svc',
        ],
      }),
    /** A user without any rights, until a test grants some to that name. */
    user: (name: string) => issue(name, { user: name, group: 'people' }),
    admin: () => issue('admin', { user: 'admin', group: 'system:masters' }),
    node: ({ name, address }: NodePlace) =>
      issue(name, { user: `system:node:${name}`, group: 'system:nodes', places: [`IP:${address}`] }),
    /** Creates the key that signs tokens of service accounts; the same file also serves to verify them. */
    async tokenKey(): Promise<string> {
      const path = join(folder, 'tokens.key')
      await run('openssl', ['genpkey', '-algorithm', 'RSA', '-pkeyopt', 'rsa_keygen_bits:2048', '-out', path])
      return path
    },
  }
}

export type Authority = Awaited<ReturnType<typeof openAuthority>>

/** A kubeconfig: the file with address and credentials that every Kubernetes client reads. */
export function kubeconfig(authority: Authority, user: KeyPair): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: 'test',
        cluster: {
          server: `https://${fabric.address}:${fabric.apiPort}`,
          'certificate-authority': authority.certificate,
        },
      },
    ],
    users: [{ name: 'user', user: { 'client-certificate': user.certificate, 'client-key': user.key } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'user' } }],
    'current-context': 'test',
  })
}
