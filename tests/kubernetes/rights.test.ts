import { beforeAll, describe, expect, it } from 'vitest'
import * as z from 'zod'
import { clusterOfThisRun } from './cluster-lane.ts'
import { openApi, type Api } from './cluster/api.ts'
import { meshUser } from './cluster/start-cluster.ts'
import { apply, giveMeshRights, manifestsOf } from './mesh-rights.ts'

/**
 * What an attacker who controls the mesh can do in the cluster: the rights of its user, or of its service account.
 */
const { api, mesh, files } = clusterOfThisRun()
const namespace = 'flotilla'
const ownNamespace = 'flotilla-mesh'
const rights = ['Namespace', 'ServiceAccount', 'ClusterRole', 'ClusterRoleBinding', 'Role', 'RoleBinding']
const tokenSchema = z.looseObject({ status: z.looseObject({ token: z.string() }) })
let ofAccount: Api
beforeAll(async () => {
  await giveMeshRights()
  await apply(
    (await manifestsOf('deploy', 'kubernetes', 'flotilla.yaml')).filter(({ kind }) => rights.includes(kind)),
  )
  const given = await api.create(`/api/v1/namespaces/${ownNamespace}/serviceaccounts/mesh/token`, {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: {},
  })
  ofAccount = openApi({ authority: files.authority, token: tokenSchema.parse(given).status.token })
})
const identities: readonly (readonly [string, () => Api])[] = [
  ['its user', () => openApi(mesh.files)],
  ['its account', () => ofAccount],
]

const pod = (spec: object) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'attempt' },
  spec: { containers: [{ name: 'attempt', image: 'flotilla.local/subject:1' }], ...spec },
})
const binding = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRoleBinding',
  metadata: { name: 'attempt' },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
  subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: meshUser }],
}

describe.each(identities)('the mesh as %s', (_who, asMesh) => {
  it.each([
    ['read secrets of the cluster', () => asMesh().get('/api/v1/namespaces/kube-system/secrets')],
    ['read secrets of its own namespace', () => asMesh().get(`/api/v1/namespaces/${namespace}/secrets`)],
    ['read the secrets that it is made of', () => asMesh().get(`/api/v1/namespaces/${ownNamespace}/secrets`)],
    ['change itself', () => asMesh().patch(`/apis/apps/v1/namespaces/${ownNamespace}/statefulsets/mesh`, {})],
    [
      'hold the lease of a component of the cluster',
      () => asMesh().get('/apis/coordination.k8s.io/v1/namespaces/kube-system/leases'),
    ],
    ['see pods of others', () => asMesh().get('/api/v1/pods')],
    ['look at another namespace', () => asMesh().get('/api/v1/namespaces/kube-system')],
    ['list namespaces', () => asMesh().get('/api/v1/namespaces')],
    [
      'take its namespace out of its level',
      () =>
        asMesh().patch(`/api/v1/namespaces/${namespace}`, {
          metadata: { labels: { 'pod-security.kubernetes.io/enforce': 'privileged' } },
        }),
    ],
    ['make a pod elsewhere', () => asMesh().create('/api/v1/namespaces/default/pods', pod({}))],
    [
      'give itself rights',
      () => asMesh().create('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', binding),
    ],
    ['change a node', () => asMesh().patch('/api/v1/nodes/node-1', { spec: { unschedulable: true } })],
    ['reach into a kubelet', () => asMesh().get('/api/v1/nodes/node-1/proxy/pods')],
    [
      'have a token of an account',
      () =>
        asMesh().create(`/api/v1/namespaces/${namespace}/serviceaccounts/default/token`, {
          apiVersion: 'authentication.k8s.io/v1',
          kind: 'TokenRequest',
          spec: {},
        }),
    ],
  ] as const)('the cluster does not let the mesh %s', async (_what, attempt) => {
    await expect(attempt()).rejects.toMatchObject({ status: 403, message: expect.stringContaining('cannot') })
  })

  it.each([
    ['with a folder of the node', pod({ volumes: [{ name: 'root', hostPath: { path: '/' } }] })],
    ['in the network of the node', pod({ hostNetwork: true })],
    ['that may become root', pod({})],
  ])('the cluster refuses it a pod %s', async (_what, body) => {
    const attempt = asMesh().create(`/api/v1/namespaces/${namespace}/pods`, body)
    await expect(attempt).rejects.toMatchObject({
      status: 403,
      message: expect.stringContaining('PodSecurity'),
    })
  })

  it('the cluster lets the mesh do what a fleet needs', async () => {
    await expect(asMesh().get('/api/v1/nodes')).resolves.toBeDefined()
    await expect(asMesh().get(`/api/v1/namespaces/${namespace}/pods`)).resolves.toBeDefined()
  })
})
